"""One task of a sweep: one scenario with one seed, described so that any worker can run it."""

from __future__ import annotations

import fcntl
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
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
    with own_processor():
        return run_description(task["description"], [task["seed"]], task["driver"])[0]


@contextmanager
def own_processor() -> Iterator[None]:
    """Keeps this thread on a processor that no other task of this machine uses, while there is one.

    A virtual-time kernel stays on one processor; two on the same would wait for each other.
    """
    allowed = os.sched_getaffinity(0)
    lock = None
    for processor in sorted(allowed):
        path = os.path.join(tempfile.gettempdir(), f"overheard-processor-{os.getuid()}-{processor}")
        lock = os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(lock)
            lock = None
            continue
        os.sched_setaffinity(0, {processor})
        break
    try:
        yield
    finally:
        os.sched_setaffinity(0, allowed)
        if lock is not None:
            os.close(lock)
