"""Reads a package of apk-tools 3 by the words of apk-v3(5), apart from the code that writes one.

    check/read_apk.py FILE FOLDER     prints what it says of itself as JSON, and unpacks its files

Everything is checked that a reader can check: places within the database, digests and sizes of files, the identity, the
order of folders and names, and that each file has its data once.
"""

import hashlib
import json
import os
import sys
import zlib


class Wrong(Exception):
    pass


def need(holds, what):
    if not holds:
        raise Wrong(what)


def number(data, at, size):
    need(0 <= at and at + size <= len(data), f"{size} bytes at {at} are outside of {len(data)}")
    return int.from_bytes(data[at : at + size], "little")


class Value:
    """A tagged word of a database."""

    def __init__(self, data, word):
        self.data, self.kind, self.rest = data, word >> 28, word & 0xFFFFFFF

    def is_null(self):
        return self.kind == 0 and self.rest == 0

    def integer(self):
        if self.kind == 1:
            return self.rest
        need(self.kind in (2, 3), f"type {self.kind} is no number")
        return number(self.data, self.rest, {2: 4, 3: 8}[self.kind])

    def bytes(self):
        if self.is_null():
            return b""
        need(self.kind in (8, 9, 10), f"type {self.kind} is no blob")
        width = {8: 1, 9: 2, 10: 4}[self.kind]
        need(self.rest % width == 0, "a blob is not aligned")
        length = number(self.data, self.rest, width)
        at = self.rest + width
        need(at + length <= len(self.data), "a blob ends outside")
        return self.data[at : at + length]

    def text(self):
        return self.bytes().decode()

    def slots(self, kind):
        """Of an array (13) or an object (14), from slot 1 on."""
        if self.is_null():
            return []
        need(self.kind == kind and self.rest % 4 == 0, f"type {self.kind} at {self.rest} is not {kind}")
        count = number(self.data, self.rest, 4)
        need(count >= 1, "a list without its first slot")
        return [Value(self.data, number(self.data, self.rest + 4 * at, 4)) for at in range(1, count)]

    def fields(self, *names):
        values = self.slots(14)
        need(len(values) <= len(names), f"an object has {len(values)} fields, and {len(names)} are known")
        return {name: value for name, value in zip(names, values) if not value.is_null()}


INFORMATION = """name version unique-id description arch license origin maintainer url repo-commit build-time installed-size
    file-size provider-priority depends provides replaces install-if recommends layer tags""".split()
SCRIPTS = "trigger pre-install post-install pre-deinstall post-deinstall pre-upgrade post-upgrade".split()


def blocks(stream):
    at = 8
    while at < len(stream):
        word = number(stream, at, 4)
        kind, size = word >> 30, word & 0x3FFFFFFF
        need(kind != 3, "an extended block, which a package has no use for")
        need(size >= 4 and at + size <= len(stream), "a block ends outside")
        yield kind, stream[at + 4 : at + size]
        padding = stream[at + size : at + size + (-size % 8)]
        need(not any(padding), "padding is not zero")
        at += size + (-size % 8)
    need(at == len(stream), "the last block has no padding")


def access(value):
    fields = value.fields("mode", "user", "group", "xattrs")
    return fields["mode"].integer(), fields["user"].text(), fields["group"].text()


def read(data):
    need(data[:4] == b"ADBd", "not a deflated database")
    inflate = zlib.decompressobj(-15)
    stream = inflate.decompress(data[4:]) + inflate.flush()
    need(inflate.eof and not inflate.unused_data, "bytes behind the compressed ones")
    need(stream[:8] == b"ADB.pckg", "not a package")
    (kind, base), *contents = blocks(stream)
    need(kind == 0 and len(base) >= 8 and base[0] == 0, "the first block is no database of a known version")
    root = Value(base, number(base, 4, 4)).fields("info", "paths", "scripts", "triggers", "replaces-priority")
    information = root["info"].fields(*INFORMATION)
    identity = information["unique-id"]
    at = identity.rest + 1
    blank = bytearray(base)
    blank[at : at + 20] = bytes(20)
    need(identity.bytes() == hashlib.sha256(blank).digest()[:20], "the identity is not the database's digest")

    said = {}
    for name, value in information.items():
        if name in ("depends", "provides", "replaces"):
            said[name] = [it.fields("name", "version", "match")["name"].text() for it in value.slots(13)]
            need(said[name] == sorted(set(said[name])), f"{name} are not in order")
        elif name in ("unique-id", "repo-commit"):
            said[name] = value.bytes().hex()
        elif name.endswith("size") or name.endswith("time"):
            said[name] = value.integer()
        else:
            said[name] = value.text()
    scripts = root["scripts"].fields(*SCRIPTS) if "scripts" in root else {}
    said["scripts"] = {name: value.text() for name, value in scripts.items()}

    expected, files, folders, total = [], {}, [], 0
    for folder_at, folder in enumerate(root["paths"].slots(13), 1):
        folder = folder.fields("name", "acl", "files")
        name = folder["name"].text() if "name" in folder else ""
        folders.append(name)
        need(access(folder["acl"]) == (0o755, "root", "root"), f"the folder {name} is not everybody's to read")
        names = []
        for file_at, file in enumerate(folder["files"].slots(13) if "files" in folder else [], 1):
            file = file.fields("name", "acl", "size", "mtime", "hash", "target")
            need("target" not in file, "a link")
            names.append(file["name"].text())
            path = f"{name}/{names[-1]}".lstrip("/")
            files[path] = (access(file["acl"]), file["hash"].bytes(), file["size"].integer())
            total += files[path][2]
            if files[path][2]:
                expected.append((folder_at, file_at, path))
        need(names == sorted(names), f"the files of {name} are not in order")
    need(folders == sorted(folders) and len(set(folders)) == len(folders), "folders are not in order")
    need(said["installed-size"] == max(total, 1), "the size is not the files'")

    unpacked = {}
    for (folder_at, file_at, path), (kind, content) in zip(expected, contents, strict=True):
        need(kind == 2, "a block behind the database is no file")
        need((number(content, 0, 4), number(content, 4, 4)) == (folder_at, file_at), f"{path} is in the wrong place")
        (mode, user, group), digest, size = files[path]
        content = content[8:]
        need(len(content) == size and hashlib.sha256(content).digest() == digest, f"{path} has other bytes")
        need((user, group) == ("root", "root"), f"{path} is not root's")
        unpacked[path] = (mode, content)
    return said, unpacked


if __name__ == "__main__":
    with open(sys.argv[1], "rb") as file:
        said, unpacked = read(file.read())
    for path, (mode, content) in unpacked.items():
        to = os.path.join(sys.argv[2], path)
        os.makedirs(os.path.dirname(to), exist_ok=True)
        with open(to, "wb") as file:
            file.write(content)
        os.chmod(to, mode)
    json.dump(said, sys.stdout, indent=2)
    print()
