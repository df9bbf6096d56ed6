"""What each package of this folder installs, and what it says of itself."""

from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent.parent
FEED = HERE / "overheard" / "files"
LUCI = HERE / "luci-proto-overheard"
VERSION = "0.1.0"
RELEASE = "1"

# OpenWrt's name of the processor by the name of the target, as `make router` has it. A program without libraries runs on every processor of its
# family; a package names one.
ARCHITECTURES = {
    "aarch64": "aarch64_cortex-a53",
    "armv7": "arm_cortex-a7_neon-vfpv4",
    "mips": "mips_24kc",
    "mipsel": "mipsel_24kc",
    "riscv64": "riscv64_generic",
    "x86-64": "x86_64",
}


@dataclass
class File:
    """A file of a package."""

    mode: int
    data: bytes


@dataclass
class Package:
    """A package before it has a form."""

    name: str
    # `None`: the package runs on every processor.
    architecture: str | None
    description: str
    section: str
    depends: list[str]
    conffiles: list[str]
    # By absolute path.
    files: dict[str, File] = field(default_factory=dict)
    license: str = "Apache-2.0 OR MIT"
    version: str = VERSION
    release: str = RELEASE

    def directories(self):
        """All folders of the files, the outer ones first, without the root."""
        all = set()
        for path in self.files:
            parts = path.strip("/").split("/")[:-1]
            all.update("/".join(parts[: at + 1]) for at in range(len(parts)))
        return sorted(all)

    def size(self):
        return sum(len(file.data) for file in self.files.values())


def overheard(program, architecture):
    """The tunnel, with this program."""
    package = Package(
        name="overheard",
        architecture=architecture,
        description="Tunnel for slow, lossy, shared links",
        section="net",
        depends=["kmod-tun", "libc"],
        conffiles=["/etc/config/overheard"],
    )
    package.files = {
        "/usr/bin/overheard": File(0o755, Path(program).read_bytes()),
        "/etc/config/overheard": File(0o600, (FEED / "overheard.config").read_bytes()),
        "/etc/init.d/overheard": File(0o755, (FEED / "overheard.init").read_bytes()),
        "/lib/netifd/proto/overheard.sh": File(0o755, (FEED / "overheard.sh").read_bytes()),
        "/lib/upgrade/keep.d/overheard": File(0o644, (FEED / "overheard.upgrade").read_bytes()),
    }
    return package


def luci():
    """The pages."""
    package = Package(
        name="luci-proto-overheard",
        architecture=None,
        description="Tunnels of Overheard in LuCI",
        section="luci",
        depends=["luci-base", "overheard"],
        conffiles=[],
    )
    for folder, at in [("htdocs", "/www"), ("root", "")]:
        for path in sorted((LUCI / folder).rglob("*")):
            if path.is_file():
                inside = path.relative_to(LUCI / folder)
                package.files[f"{at}/{inside}"] = File(0o644, path.read_bytes())
    return package
