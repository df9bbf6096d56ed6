#!/usr/bin/env bash
# Builds the virtual-time kernel, a User-Mode Linux kernel with time travel, into lab-kernel/build/linux.
#
#   scripts/lab-kernel.sh
#
# The source is the newest linux-source package that this Debian offers, fetched by apt-get and not installed; what
# is switched on stands in lab-kernel/config. Takes no rights, 2 GB of disk while it runs, and some ten minutes.
set -euo pipefail
cd "$(dirname "$0")/.."

fail() { printf 'lab-kernel: %s\n' "$1" >&2; exit 1; }

[ "$(uname -m)" = x86_64 ] || fail "User-Mode Linux is for x86_64 only; this is $(uname -m)."
command -v apt-get >/dev/null || fail "this is not Debian: build a kernel by lab-kernel/config yourself, and name it in OVERHEARD_LAB_KERNEL."
config=$PWD/lab-kernel/config
output=$PWD/lab-kernel/build
package=$(apt-cache search --names-only '^linux-source-[0-9.]+$' | cut -d' ' -f1 | sort -V | tail -n1)
[ -n "$package" ] || fail "apt knows no linux-source package: run \`apt-get update\` as root, and repeat."
version=${package#linux-source-}
# Kernels before 6.12 do not bring time travel to what the lab runs.
[ "$(printf '%s\n' 6.12 "$version" | sort -V | head -n1)" = 6.12 ] || fail "the newest kernel source here is $version; 6.12 or newer is needed: switch Debian's security suite on."

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
echo "lab-kernel: fetching $package"
(cd "$work" && apt-get download -qq "$package" 2>"$work/log") || { cat "$work/log" >&2; fail "apt-get download failed."; }
dpkg-deb --fsys-tarfile "$work"/*.deb | tar x -C "$work" --wildcards './usr/src/*.tar.xz'
rm "$work"/*.deb
echo "lab-kernel: unpacking"
mkdir "$work/source"
tar xf "$work"/usr/src/*.tar.xz -C "$work/source" --strip-components=1
rm -r "$work/usr"
cd "$work/source"

# Older kernels reserve a fixed room for the processor's registers, which AMX does not fit in.
offsets=arch/x86/um/user-offsets.c
[ ! -f "$offsets" ] || sed -i 's/DEFINE_LONGS(HOST_FP_SIZE, 2696)/DEFINE_LONGS(HOST_FP_SIZE, 11264)/' "$offsets"

echo "lab-kernel: configuring"
{
    make ARCH=um defconfig
    scripts/kconfig/merge_config.sh -m .config "$config"
    make ARCH=um olddefconfig
} >"$work/log" 2>&1 || { tail -n 20 "$work/log" >&2; fail "configuring failed."; }
lost=$(grep -E '^CONFIG_' "$config" | grep -vxF -f .config || true)
[ -z "$lost" ] || fail "this kernel does not know: $(echo $lost)"

echo "lab-kernel: building with $(nproc) processors"
make ARCH=um -j"$(nproc)" linux >"$work/log" 2>&1 || { tail -n 20 "$work/log" >&2; fail "building failed."; }
mkdir -p "$output"
strip -o "$output/linux.new" linux

echo "lab-kernel: booting"
cat >"$work/init" <<'INIT'
#!/bin/sh
/bin/mount -t proc proc /proc
echo "booted $(/bin/uname -r)"
echo o >/proc/sysrq-trigger
sleep 60
INIT
chmod +x "$work/init"
said=$(env -i HOME="$work" PATH=/usr/bin:/bin timeout 120 "$output/linux.new" mem=256M time-travel=inf-cpu \
    rootfstype=hostfs rootflags=/ rw con=null con0=fd:0,fd:1 quiet init="$work/init" </dev/null 2>&1) || true
grep -q "^booted $version" <<<"$said" || { tail -n 20 <<<"$said" >&2; fail "the kernel does not boot."; }
mv "$output/linux.new" "$output/linux"
echo "lab-kernel: $output/linux is ready ($(grep -o 'booted [^[:space:]]*' <<<"$said"))"
