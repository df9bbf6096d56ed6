"""The form of apk-tools 3: a small database of typed values, and then the files, compressed together.

Described in apk-v3(5) of apk-tools. A value is a 32-bit word: 4 bits of type, and 28 bits of number or of place. The field
numbers are those of apk-tools' schemas.
"""

import hashlib
import struct
import zlib

NULL = 0
INT, INT_32 = 0x10000000, 0x20000000
BLOB_8, BLOB_16, BLOB_32 = 0x80000000, 0x90000000, 0xA0000000
ARRAY, OBJECT = 0xD0000000, 0xE0000000
ADB_BLOCK, DATA_BLOCK = 0, 2
BLOCK_HEADER_BYTES, BLOCK_ALIGNMENT = 4, 8
UNIQUE_ID_BYTES = 20

SCRIPTS = {
    3: """#!/bin/sh
[ "${IPKG_NO_SCRIPT}" = "1" ] && exit 0
[ -s ${IPKG_INSTROOT}/lib/functions.sh ] || exit 0
. ${IPKG_INSTROOT}/lib/functions.sh
export root="${IPKG_INSTROOT}"
export pkgname="NAME"
add_group_and_user
default_postinst
""",
    4: """#!/bin/sh
[ -s ${IPKG_INSTROOT}/lib/functions.sh ] || exit 0
. ${IPKG_INSTROOT}/lib/functions.sh
export root="${IPKG_INSTROOT}"
export pkgname="NAME"
default_prerm
""",
}


class Database:
    """Values, each before those that refer to it."""

    def __init__(self):
        # Two versions, and the root, which comes last.
        self.data = bytearray(8)

    def _put(self, alignment, data):
        self.data += bytes(-len(self.data) % alignment)
        at = len(self.data)
        self.data += data
        return at

    def integer(self, number):
        if number < 1 << 28:
            return INT | number
        return INT_32 | self._put(4, struct.pack("<I", number))

    def blob(self, data):
        if isinstance(data, str):
            data = data.encode()
        if not data:
            return NULL
        if len(data) < 1 << 8:
            return BLOB_8 | self._put(1, struct.pack("<B", len(data)) + data)
        if len(data) < 1 << 16:
            return BLOB_16 | self._put(2, struct.pack("<H", len(data)) + data)
        return BLOB_32 | self._put(4, struct.pack("<I", len(data)) + data)

    def _slots(self, kind, values):
        while values and values[-1] == NULL:
            values = values[:-1]
        if not values:
            return NULL
        return kind | self._put(4, struct.pack(f"<{len(values) + 1}I", len(values) + 1, *values))

    def object(self, fields):
        """Fields by their numbers, from 1."""
        return self._slots(OBJECT, [fields.get(number, NULL) for number in range(1, max(fields, default=0) + 1)])

    def array(self, values):
        return self._slots(ARRAY, values)

    def root(self, value):
        struct.pack_into("<BBHI", self.data, 0, 0, 0, 0, value)


def write(package, epoch):
    """The bytes of the package. `epoch` is the time of every file, in seconds."""
    files = dict(package.files)
    files.update(records(package))
    by_folder = folders(files)
    base = Database()
    unique_id = base.blob(bytes(UNIQUE_ID_BYTES))
    depends = [base.object({1: base.blob(name)}) for name in sorted(package.depends)]
    information = base.object(
        {
            1: base.blob(package.name),
            2: base.blob(f"{package.version}-r{package.release}"),
            3: unique_id,
            4: base.blob(package.description),
            5: base.blob(package.architecture or "noarch"),
            6: base.blob(package.license),
            7: base.blob(package.name),
            12: base.integer(max(1, sum(len(file.data) for file in files.values()))),
            15: base.array(depends),
        }
    )
    paths = []
    for folder, names in by_folder.items():
        entries = [
            base.object(
                {
                    1: base.blob(name),
                    2: access(base, file.mode),
                    3: base.integer(len(file.data)),
                    4: base.integer(epoch),
                    5: base.blob(hashlib.sha256(file.data).digest()),
                }
            )
            for name, file in names
        ]
        paths.append(base.object({1: base.blob(folder), 2: access(base, 0o755), 3: base.array(entries)}))
    scripts = base.object({at: base.blob(text.replace("NAME", package.name)) for at, text in SCRIPTS.items()})
    base.root(base.object({1: information, 2: base.array(paths), 3: scripts}))
    # The identity of a package is the digest of its database, taken while its own place is empty.
    at = (unique_id & 0x0FFFFFFF) + 1
    base.data[at : at + UNIQUE_ID_BYTES] = hashlib.sha256(base.data).digest()[:UNIQUE_ID_BYTES]

    stream = bytearray(b"ADB.pckg")
    block(stream, ADB_BLOCK, bytes(base.data))
    for folder_at, names in enumerate(by_folder.values(), 1):
        for file_at, (_, file) in enumerate(names, 1):
            if file.data:
                block(stream, DATA_BLOCK, struct.pack("<II", folder_at, file_at) + file.data)
    deflate = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    return b"ADBd" + deflate.compress(bytes(stream)) + deflate.flush()


def name_of(package):
    # apk-tools' own name has no processor; a folder of several needs one.
    return f"{package.name}-{package.version}-r{package.release}_{package.architecture or 'noarch'}.apk"


def records(package):
    """What OpenWrt's scripts read of an installed package: its files, and those that belong to the owner."""
    at = f"/lib/apk/packages/{package.name}"
    kind = type(next(iter(package.files.values())))
    made = {f"{at}.list": "".join(f"{path}\n" for path in sorted(package.files))}
    if package.conffiles:
        made[f"{at}.conffiles"] = "".join(f"{path}\n" for path in package.conffiles)
        made[f"{at}.conffiles_static"] = "".join(
            f"{path} {hashlib.sha256(package.files[path].data).hexdigest()}\n"
            for path in package.conffiles
            if path in package.files
        )
    return {path: kind(0o644, text.encode()) for path, text in made.items()}


def folders(files):
    """The files of each folder, both in the order of their bytes; every folder above is one, too."""
    by_folder = {"": []}
    for path, file in files.items():
        *above, name = path.strip("/").split("/")
        for depth in range(1, len(above) + 1):
            by_folder.setdefault("/".join(above[:depth]), [])
        by_folder["/".join(above)].append((name, file))
    return {folder: sorted(by_folder[folder], key=lambda it: it[0]) for folder in sorted(by_folder)}


def access(base, mode):
    return base.object({1: base.integer(mode), 2: base.blob("root"), 3: base.blob("root")})


def block(stream, kind, payload):
    stream += struct.pack("<I", kind << 30 | BLOCK_HEADER_BYTES + len(payload)) + payload
    stream += bytes(-len(stream) % BLOCK_ALIGNMENT)
