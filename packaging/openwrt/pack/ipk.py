"""The form of opkg: a gzipped tar of three members, two of which are gzipped tars."""

import gzip
import io
import tarfile

# OpenWrt's own scripts, which enable a service after its installation and stop it before its removal.
POSTINST = """#!/bin/sh
[ "${IPKG_NO_SCRIPT}" = "1" ] && exit 0
[ -s ${IPKG_INSTROOT}/lib/functions.sh ] || exit 0
. ${IPKG_INSTROOT}/lib/functions.sh
default_postinst $0 $@
"""
PRERM = """#!/bin/sh
[ -s ${IPKG_INSTROOT}/lib/functions.sh ] || exit 0
. ${IPKG_INSTROOT}/lib/functions.sh
default_prerm $0 $@
"""


def write(package, epoch):
    """The bytes of the package. `epoch` is the time of every file, in seconds."""
    control = {"./control": (0o644, control_of(package, epoch).encode())}
    control["./postinst"] = (0o755, POSTINST.encode())
    control["./prerm"] = (0o755, PRERM.encode())
    if package.conffiles:
        control["./conffiles"] = (0o644, "".join(f"{path}\n" for path in package.conffiles).encode())
    data = {f".{path}": (file.mode, file.data) for path, file in package.files.items()}
    return tar(
        {
            "./debian-binary": (0o644, b"2.0\n"),
            "./data.tar.gz": (0o644, tar(data, ["."] + [f"./{it}" for it in package.directories()], epoch)),
            "./control.tar.gz": (0o644, tar(control, ["."], epoch)),
        },
        [],
        epoch,
    )


def name_of(package):
    return f"{package.name}_{package.version}-r{package.release}_{package.architecture or 'all'}.ipk"


def control_of(package, epoch):
    fields = {
        "Package": package.name,
        "Version": f"{package.version}-r{package.release}",
        "Depends": ", ".join(package.depends),
        "License": package.license,
        "Section": package.section,
        "SourceDateEpoch": str(epoch),
        "Architecture": package.architecture or "all",
        "Installed-Size": str(package.size()),
        "Description": package.description,
    }
    return "".join(f"{name}: {value}\n" for name, value in fields.items())


def tar(files, directories, epoch):
    """A gzipped tar of folders and then files, in the order given."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.GNU_FORMAT) as archive:
        for name in directories:
            archive.addfile(entry(name + "/" if name == "." else name, 0o755, tarfile.DIRTYPE, epoch))
        for name, (mode, data) in files.items():
            member = entry(name, mode, tarfile.REGTYPE, epoch)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return gzip.compress(out.getvalue(), 9, mtime=0)


def entry(name, mode, kind, epoch):
    member = tarfile.TarInfo(name)
    member.mode, member.type, member.mtime = mode, kind, epoch
    member.uname = member.gname = "root"
    return member
