"""The two programs that scenarios run, and what identifies this installation."""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
from functools import lru_cache
from pathlib import Path

from . import _native
from ._native import LabError
from .contents import digest


def find(name: str) -> Path:
    """`overheard` or `overheard-lab`: named by a variable, beside this interpreter, or in PATH."""
    variable = name.upper().replace("-", "_") + "_PROGRAM"
    if named := os.environ.get(variable):
        if not os.access(named, os.X_OK):
            raise LabError(f"{variable} names {named}, which is no program: name one, or unset it")
        return Path(named).absolute()
    beside = Path(sys.executable).parent / name
    found = str(beside) if os.access(beside, os.X_OK) else shutil.which(name)
    if found is None:
        raise LabError(f"the program {name} is neither beside {sys.executable} nor in PATH: install the wheel again")
    return Path(found).absolute()


def kernel() -> Path:
    """The virtual-time kernel: as `overheard-lab kernel` finds it, or the one of the package `overheard_lab_kernel`."""
    try:
        return Path(_native.find_kernel())
    except LabError:
        if named := os.environ.get("OVERHEARD_LAB_KERNEL"):
            raise LabError(f"OVERHEARD_LAB_KERNEL names {named}, which is no kernel: unset it, or name one; `overheard-lab kernel --make` builds one") from None
        try:
            from overheard_lab_kernel import KERNEL
        except ImportError:
            KERNEL = None
        if KERNEL is None:
            raise
        return Path(KERNEL)


def check_commands(scenario: dict) -> None:
    """A program that is not installed is named before anything boots."""
    path = "/usr/sbin:/usr/bin:/sbin:/bin"
    for daemon in scenario["daemons"]:
        word = daemon["command"][0] if daemon["command"] else ""
        if word and not word.startswith("{") and shutil.which(word, path=path) is None:
            who = f"scenario `{scenario['name']}`: the program `{word}` of `{daemon['name']}`"
            raise LabError(f"{who} is not installed: install the Debian package that has it, or name its path")


@lru_cache(maxsize=1)
def identity() -> str:
    """A digest of this package and both programs. Equal identities give equal rows."""
    state = hashlib.sha256()
    for name in ("overheard", "overheard-lab"):
        state.update(digest(find(name)).encode())
    package = Path(__file__).parent
    for file in sorted(package.glob("*.py")) + sorted(package.glob("_native*.so")):
        state.update(f"{file.name} {digest(file)}".encode())
    return state.hexdigest()[:16]
