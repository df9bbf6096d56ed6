"""One task of a sweep: one scenario with one seed, described so that any worker can run it."""

from __future__ import annotations

import os
from typing import Any

from ._native import LabError
from .contents import digest
from .programs import identity
from .programs import kernel as find_kernel
from .running import run_description


class WrongVersion(LabError):
    """A worker has another version than the sweep."""


def task(description: dict[str, Any], seed: int, driver: str) -> dict[str, Any]:
    """A task. Its content is also its key."""
    kernel = digest(find_kernel()) if driver == "virtual" else None
    return {"description": description, "seed": seed, "driver": driver, "kernel": kernel, "identity": identity()}


def run_task(task: dict[str, Any]) -> dict[str, Any]:
    """Runs a task here. It is what engines send to their workers, which need this package and a kernel."""
    mine = identity()
    if task["identity"] != mine:
        who = f"this worker ({os.uname().nodename}) has version {mine}, and the sweep has {task['identity']}"
        raise WrongVersion(f"{who}: install the same wheel on both")
    if task["kernel"] is not None and (kernel := digest(find_kernel())) != task["kernel"]:
        who = f"this worker ({os.uname().nodename}) has the kernel {kernel[:16]}, and the sweep has {task['kernel'][:16]}"
        raise WrongVersion(f"{who}: install the same kernel on both")
    return run_description(task["description"], [task["seed"]], task["driver"])[0]
