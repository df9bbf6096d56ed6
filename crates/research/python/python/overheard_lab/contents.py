"""What is downloaded and sent. A description travels to workers; bytes are made or read where they are needed."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from . import _native
from ._native import LabError


@dataclass(frozen=True)
class Random:
    """Bytes that neither repeat nor compress. Equal lengths are equal bytes, and shorter ones begin longer ones."""

    length: int

    def describe(self) -> dict[str, Any]:
        if self.length < 0:
            raise LabError(f"Random has at least 0 bytes, and not {self.length}")
        return {"random": self.length}


@dataclass(frozen=True)
class Text:
    """A short text, which travels with the description."""

    text: str

    def describe(self) -> dict[str, Any]:
        return {"text": self.text}


@dataclass(frozen=True)
class File:
    """A file, or a slice of it. A worker needs the file at the same path, with the same bytes."""

    path: str | Path
    skip_bytes: int = 0
    length_bytes: int | None = None

    def describe(self) -> dict[str, Any]:
        path = Path(self.path).absolute()
        return {"file": str(path), "skip": self.skip_bytes, "length": self.length_bytes, "sha256": digest(path)}


@dataclass(frozen=True)
class Experiment:
    """A content of the papers' experiments: file-1, file-2, ebook, documents."""

    name: str

    def describe(self) -> dict[str, Any]:
        data, origin = _native.content(self.name)
        return {"experiment": self.name, "origin": origin, "sha256": hashlib.sha256(data).hexdigest()}


Content = Random | Text | File | Experiment


def digest(path: Path) -> str:
    """The SHA-256 of a file."""
    try:
        stat = path.stat()
        return _digest(str(path), stat.st_mtime_ns, stat.st_size)
    except OSError as error:
        raise LabError(f"cannot read {path}: {error.strerror}") from None


@lru_cache(maxsize=256)
def _digest(path: str, _modified: int, _size: int) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest() if hasattr(hashlib, "file_digest") else _slow(file)


def _slow(file: Any) -> str:
    """`hashlib.file_digest` is of Python 3.11."""
    state = hashlib.sha256()
    while block := file.read(1 << 20):
        state.update(block)
    return state.hexdigest()


def place(content: dict[str, Any], folder: Path, name: str) -> dict[str, Any]:
    """Puts a described content into a folder, and returns it in the form of a scenario."""
    if "file" in content:
        path = Path(content["file"])
        if digest(path) != content["sha256"]:
            raise LabError(f"{path} has other bytes than where the sweep was described: copy that file here")
        return {"name": name, "file": str(path), "skip_bytes": content["skip"], "length_bytes": content["length"]}
    path = folder / name
    path.write_bytes(_bytes(content))
    return {"name": name, "file": str(path)}


def _bytes(content: dict[str, Any]) -> bytes:
    if "random" in content:
        return _native.random_bytes(content["random"])
    if "text" in content:
        return content["text"].encode()
    data, _ = _native.content(content["experiment"])
    if hashlib.sha256(data).hexdigest() != content["sha256"]:
        raise LabError(f"the content {content['experiment']} has other bytes here: name the same OVERHEARD_DATA")
    return data
