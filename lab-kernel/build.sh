#!/usr/bin/env bash
# Builds the lab's kernel, lab-kernel/build/linux, from Debian's package of the kernel's source.
#
#   lab-kernel/build.sh [SOURCE]
#
# SOURCE is a package such as linux-source-6.12; without it, the newest that apt knows. JOBS bounds the processes that
# compile (as many as there are processors). Takes about 20 minutes of one processor and 3 GB of disk, which are freed
# at the end; needs no rights but to read apt's lists.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
build=$here/build
jobs=${JOBS:-$(nproc)}

say() { printf 'lab-kernel: %s\n' "$*" >&2; }
fail() { say "$*"; exit 1; }

# A tool and the Debian package that has it.
missing=()
while read -r tool package; do
	command -v "$tool" >/dev/null || missing+=("$package")
done <<-END
	apt-get apt
	bc bc
	bison bison
	flex flex
	gcc gcc
	make make
	perl perl
	xz xz-utils
END
[ ${#missing[@]} = 0 ] || fail "not installed: apt-get install ${missing[*]}"

# Time travel is good from 6.12 on; newer kernels also know seccomp=on, which is twice as fast.
newest_source() {
	apt-cache search --names-only '^linux-source-[0-9.]+$' | cut -d' ' -f1 | sort -V | tail -n 1
}
source=${1:-$(newest_source)}
version=${source#linux-source-}
[ -n "$version" ] || fail "apt knows no linux-source package: run \`apt-get update\` as root"
[ "$(printf '%s\n' 6.12 "$version" | sort -V | head -n 1)" = 6.12 ] ||
	fail "$source is too old: 6.12 at least (Debian 12 has it in its security suite)"

mkdir -p "$build"
work=$(mktemp -d "$build/work.XXXXXX")
trap 'rm -rf "$work"' EXIT
cd "$work"
say "fetching $source"
# apt's own user may not write here, which it says and does not mind.
apt-get -qq download "$source" 2> >(grep -v 'Download is performed unsandboxed' >&2)
package_version=$(dpkg-deb --field "$source"_*.deb Version)
source_digest=$(sha256sum "$source"_*.deb | cut -d' ' -f1)
dpkg-deb --fsys-tarfile "$source"_*.deb | tar --extract --wildcards './usr/src/linux-source-*.tar.xz'
rm "$source"_*.deb
say "unpacking"
tar --extract --file "usr/src/linux-source-$version.tar.xz"
rm -r usr
cd "linux-source-$version"

# In 6.12 the registers of a processor with AMX, 8 KB of tiles among them, do not fit where they are saved.
sed -i 's/(HOST_FP_SIZE, 2696)/(HOST_FP_SIZE, 11264)/' arch/x86/um/user-offsets.c

say "configuring"
export ARCH=um
make --silent defconfig
scripts/kconfig/merge_config.sh -m .config "$here/config" >/dev/null
make --silent olddefconfig
wanted() { grep -E '^(CONFIG_|# CONFIG_[A-Z0-9_]+ is not set)' "$here/config"; }
while read -r line; do
	name=$(sed -E 's/^(# )?(CONFIG_[A-Za-z0-9_]+).*/\2/' <<<"$line")
	case $line in
	'#'*) grep -q "^$name=" .config && fail "$source insists on $name" || true ;;
	*) grep -qxF "$line" .config || fail "$source does not take $line" ;;
	esac
done < <(wanted)

say "compiling with $jobs processes"
make --silent -j"$jobs" linux
strip linux

# A night's sleep in virtual time, which a kernel whose clock does not travel takes a night for.
say "booting"
cat >"$work/init" <<-'END'
	#!/bin/sh
	mount -t proc proc /proc
	sleep 28800
	echo "slept through on $(uname -r)"
	echo o >/proc/sysrq-trigger
	sleep 60
END
chmod +x "$work/init"
env -i HOME="$work" PATH="$PATH" timeout 300 ./linux mem=256M time-travel=inf-cpu seccomp=on rootfstype=hostfs \
	rootflags=/ rw init="$work/init" con=null con0=fd:0,fd:1 quiet </dev/null >"$work/console" 2>&1 || true
grep 'slept through' "$work/console" >&2 || { tail -n 20 "$work/console" >&2; fail "the kernel does not come up"; }

cp .config "$build/config"
cp COPYING LICENSES/preferred/GPL-2.0 "$here/build.sh" "$build/"
cat >"$build/SOURCE.md" <<-END
	# The source of this kernel

	This kernel is Linux, under the GPL, version 2 (COPYING, GPL-2.0). Its source is Debian's package $source, version
	$package_version, whose archive has the SHA-256 $source_digest. The file build.sh beside this one names every change
	and builds it, with the options in config.

	    apt-get download $source=$package_version

	Whoever passes this kernel on passes on the source as well: \`scripts/wheel kernel-source\` writes it as one archive,
	to be offered at the same place.
END
# Renamed into place, so that a kernel that is there is a whole one.
cp linux "$build/linux.new"
mv "$build/linux.new" "$build/linux"
say "built $build/linux"
