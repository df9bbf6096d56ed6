"""Kept outcomes, each in a file that is named by everything that it depends on."""

from __future__ import annotations

import errno
import hashlib
import json
import os
from pathlib import Path
from typing import Any

from ._native import LabError


def canonical(value: Any) -> bytes:
    """JSON that is equal for equal values: sorted keys, no spaces."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def key(task: dict[str, Any]) -> str:
    """The content key of a task: its scenario, contents, seed, driver, kernel, programs and this package."""
    return hashlib.sha256(canonical(task)).hexdigest()


class Store:
    """A folder of kept outcomes. Several processes and machines may share it."""

    def __init__(self, folder: str | Path, *, there: bool = False) -> None:
        """A folder that is made if need be; with `there`, one that has to exist."""
        self.folder = Path(folder)
        if there and not self.folder.is_dir():
            raise LabError(f"there is no folder {self.folder} of kept results")
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise self._trouble(error) from None

    def get(self, task_key: str) -> dict[str, Any] | None:
        """The outcome of a task; none if it is not kept, or only half of it is."""
        try:
            return json.loads(self._path(task_key).read_bytes())
        except (OSError, ValueError):
            return None

    def put(self, task_key: str, outcome: dict[str, Any]) -> None:
        """Keeps an outcome: a reader finds all of it, or nothing."""
        path = self._path(task_key)
        half = path.with_name(f"{path.name}.{os.getpid()}.half")
        try:
            path.parent.mkdir(exist_ok=True)
            half.write_bytes(canonical(outcome))
            half.replace(path)
        except OSError as error:
            half.unlink(missing_ok=True)
            raise self._trouble(error) from None

    def merge(self, other: Store) -> int:
        """Takes what another folder has, and returns how many were new. Two outcomes of one key must be equal."""
        new = 0
        for path in sorted(other.folder.glob("??/*.json")):
            theirs, ours = other.get(path.stem), self.get(path.stem)
            if theirs is None:
                continue
            if ours is not None and canonical(ours) != canonical(theirs):
                raise LabError(f"{path} and {self._path(path.stem)} differ, which equal keys never may: remove the wrong one")
            if ours is None:
                self.put(path.stem, theirs)
                new += 1
        return new

    def __len__(self) -> int:
        return sum(1 for _ in self.folder.glob("??/*.json"))

    def _path(self, task_key: str) -> Path:
        return self.folder / task_key[:2] / f"{task_key}.json"

    def _trouble(self, error: OSError) -> LabError:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            return LabError(f"the disk of {self.folder} is full: free space and repeat; the {len(self)} kept results stay valid")
        return LabError(f"cannot keep results in {self.folder}: {error.strerror}; name another folder")
