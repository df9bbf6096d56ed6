"""Runs described scenarios: what is described is put into a folder of the run, which the programs see."""

from __future__ import annotations

import errno
import json
import os
import tempfile
from pathlib import Path
from typing import Any

from . import _native, contents, programs
from ._native import LabError

DRIVERS = ("sim", "virtual", "lab")


def materialize(description: dict[str, Any], seeds: list[int], folder: Path) -> str:
    """The scenario as JSON, with its contents and files in this folder."""
    scenario = dict(description["scenario"])
    scenario["seeds"] = seeds
    scenario["contents"] = [contents.place(content, folder, name) for name, content in description["contents"].items()]
    files = folder / "files"
    files.mkdir()
    for name, text in description["files"].items():
        path = files / name
        path.write_text(text)
        path.chmod(0o600)
    # JSON's quoting of a path without quotes and backslashes is the path.
    return json.dumps(scenario).replace("{files}", str(files))


def run_description(description: dict[str, Any], seeds: list[int], driver: str, progress: bool = False, seeds_per_boot: int = 1) -> list[dict[str, Any]]:
    """The outcomes of a description, one for each seed."""
    if driver not in DRIVERS:
        raise LabError(f"no driver is called {driver!r}; there are sim, virtual and lab")
    try:
        with tempfile.TemporaryDirectory(prefix="overheard-python-", dir=_base()) as folder:
            return _run(materialize(description, seeds, Path(folder)), description, seeds, driver, progress, seeds_per_boot)
    except OSError as error:
        who = f"cannot prepare scenario `{description['scenario']['name']}`"
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            folder = _base() or tempfile.gettempdir()
            raise LabError(f"{who}: the disk of {folder} is full: free space, or name another folder by TMPDIR") from None
        raise LabError(f"{who}: {error}") from None


def run_each(description: dict[str, Any], seeds: list[int], driver: str, progress: bool) -> list[dict[str, Any]]:
    """The same, with a boot for each seed: an interruption waits for those that have begun alone."""
    from .engines import local

    def run(task: dict[str, Any]) -> dict[str, Any]:
        return run_description(description, [task["seed"]], driver)[0]

    outcomes: dict[int, dict[str, Any]] = {}
    with _bar(len(seeds), progress) as bar:
        for number, outcome in local([{"seed": seed} for seed in seeds], None, None, run):
            outcomes[number] = outcome
            bar.update()
    return [outcomes[number] for number in range(len(seeds))]


def _run(text: str, description: dict[str, Any], seeds: list[int], driver: str, progress: bool, seeds_per_boot: int) -> list[dict[str, Any]]:
    if driver == "sim":
        tunnel = description["tunnel"] or {}
        if description["scenario"]["daemons"] and not tunnel:
            raise LabError(f"scenario `{description['scenario']['name']}`: the driver sim runs no programs: take virtual")
        _check_simulated(description["scenario"], bool(tunnel))
        outcomes = _native.simulate(text, tunnel.get("scheme"), tunnel.get("repairs", True))
        name = description["scenario"]["name"]
        return [{"scenario": name, "seed": seed, "sim": json.loads(it)} for seed, it in zip(seeds, outcomes)]
    programs.check_commands(description["scenario"])
    overheard, laboratory = programs.find("overheard"), programs.find("overheard-lab")
    kernel = programs.kernel() if driver == "virtual" else None
    with _bar(len(seeds), progress) as bar:
        outcomes = _native.run([text], driver, overheard, laboratory, kernel, seeds_per_boot, bar.update)
    return [json.loads(outcome) for outcome in outcomes]


def _check_simulated(scenario: dict[str, Any], has_tunnel: bool) -> None:
    """`sim` has one server, port 80, and the addresses of one link and its tunnel."""
    addresses = ["10.77.0.1", "10.77.0.2", *(["10.80.0.1", "10.80.0.2"] if has_tunnel else [])]
    for download in scenario["downloads"]:
        wrong = None
        if download["from"] not in addresses:
            wrong = f"nothing has the address {download['from']}; there are {', '.join(addresses)}"
        elif download["port"] != 80 or not scenario["servers"]:
            wrong = f"nothing serves port {download['port']}: add `serve`, whose port is 80"
        if wrong:
            raise LabError(f"scenario `{scenario['name']}`: {wrong}")


def _bar(total: int, shown: bool) -> Any:
    from tqdm.auto import tqdm

    return tqdm(total=total, unit="run", disable=not shown, leave=False)


def _base() -> str | None:
    """The virtual-time kernel has /run, /dev, /proc and /sys of its own: a folder there is out of its sight."""
    usual = os.path.realpath(tempfile.gettempdir())
    return "/tmp" if usual.startswith(("/run", "/dev", "/proc", "/sys")) else None
