"""`overheard-lab reproduce` on a cluster: one task a piece, whose rows and runs come back into one folder."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from . import programs
from ._native import LabError
from .engines import ENGINES
from .tasks import WrongVersion


def run_piece(task: dict[str, Any]) -> dict[str, Any]:
    """Runs one piece here, and returns the files that it kept, by their paths."""
    if task["identity"] != (mine := programs.identity()):
        raise WrongVersion(f"this worker ({os.uname().nodename}) has version {mine}, and not {task['identity']}: install the same wheel")
    with tempfile.TemporaryDirectory() as folder:
        command = [programs.find("overheard-lab"), "reproduce", "--hours", str(task["hours"]), "--report", folder]
        ran = subprocess.run([*command, "--piece", task["piece"]], capture_output=True, text=True)
        if ran.returncode:
            raise LabError(f"{task['piece']}: {(ran.stderr or ran.stdout).strip().splitlines()[-1]}")
        kept = Path(folder, "kept")
        return {str(path.relative_to(kept)): path.read_text() for path in sorted(kept.rglob("*.json"))}


def reproduce(hours: float, engine: str, report: str, workers: int | None = None, address: str | None = None) -> None:
    """Runs the pieces that the folder lacks on an engine, then writes the pages."""
    command = [str(programs.find("overheard-lab")), "reproduce", "--hours", str(hours)]
    listed = subprocess.run([*command, "--list", "--json"], capture_output=True, text=True)
    if listed.returncode:
        raise LabError(listed.stderr.strip() or "overheard-lab reproduce --list failed")
    pieces = json.loads(listed.stdout)
    kept = Path(report, "kept")
    done = {(path.parent.name, path.stem) for path in kept.rglob("rows-*.json")} if kept.is_dir() else set()
    wanted = [piece for piece in pieces if _file(piece["name"]) not in done]
    print(f"{sum(piece['core_seconds'] for piece in wanted) / 3600:.2f} core-hours in {len(wanted)} pieces")
    tasks = [{"piece": piece["name"], "hours": hours, "identity": programs.identity()} for piece in wanted]
    for number, files in ENGINES[engine](tasks, workers, address, run_piece):
        for name, text in files.items():
            path = kept / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        print(wanted[number]["name"], flush=True)
    subprocess.run([*command, "--report", report], check=True)


def _file(piece: str) -> tuple[str, str]:
    """The folder and the name of a piece's rows."""
    experiment, driver, figure, extent = piece.split(" ")
    return experiment, f"rows-{driver}-{figure}-{extent}".lower()
