#!/usr/bin/env bash
# Installs what Overheard needs on Debian 12 and this machine lacks, and says in one line what it did.
#
#   scripts/setup.sh [build] [lab] [test] [origins] [kernel] [qemu] [model] [bench] [instructions] [static] [router] [docs] [pictures] [ns2] [python] [packages]      (no name: build and lab)
#
# build   the C compiler that some libraries are built with, and what the feature `boost` takes: clang, pkg-config, libelf, zlib
# lab     the programs that the demonstration and the experiments run: namespaces, a web server, curl, a routing daemon
# test    rustfmt, clippy, a cache of another kind as a neighbour, and readers of what we write: a browser, tshark, Python;
#         programs whose connections cross the tunnel: ssh, rsync, PostgreSQL, netcat, WebSockets; Valgrind, which counts copies
# origins HTTP servers of other makes, behind which the web cache is attacked: nginx, Node, Go
# kernel  what building the virtual-time kernel takes
# qemu    QEMU for Debian's own kernel, which scripts/in-qemu fetches without installing it, and what simulated Wi-Fi takes
# model   spin, which checks the model of the handshake, and the C compiler that it needs
# instructions  Valgrind, and the program that runs benchmarks in it
# bench   what tunnels and caches are compared with
# static  the C compiler and the Rust target of a program that needs nothing of its system
# router  Zig and cargo-zigbuild, the source of the standard library, and qemu-user, for the processors of routers
# docs    mdBook, which makes the documents a site
# pictures  Graphviz and a terminal emulator, which draw the documents' pictures
# python  Python with virtual environments, for the package overheard_lab and its notebooks; strip, for its wheel
# packages  the shell of OpenWrt, and what reads packages and images: shellcheck, jq, python-debian, skopeo, umoci; and trees of
#         Debian for other processors: mmdebstrap and QEMU's user emulation
# ns2     ns-2, the simulator of the XBC paper, which scripts/ns2-control runs
#
# Nothing is asked of the network, and no rights are needed, when nothing is missing. No service is started:
# the lab starts its own nginx and babeld inside its namespaces.
set -euo pipefail
cd "$(dirname "$0")/.."
# An ordinary user's PATH lacks the folders where ip, nft and nginx stand.
PATH="$PATH:/usr/sbin:/sbin"

fail() { printf 'setup: %s\n' "$1" >&2; exit 1; }

essential=() optional=() # Debian packages that are missing
router_tools=            # the folder for Zig and cargo-zigbuild, if they are missing
zig=0.15.2               # 0.17 has no allocator of musl's: docs/decisions/0028-routers.md
lacks() { ! command -v "$1" >/dev/null 2>&1; }
links_c() { printf '#include <stdio.h>\nint main(void) { return 0; }' | cc -x c - -o /dev/null 2>/dev/null; }

has_header() { printf '#include <%s>\n' "$1" | cc -x c -fsyntax-only - 2>/dev/null; }

rust_is_there() {
    local wanted have
    wanted=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
    lacks cargo && fail "Rust is missing: install Rust $wanted or newer by rustup (https://rustup.rs), open a new shell, and repeat."
    have=$(cargo --version | cut -d' ' -f2)
    [ "$(printf '%s\n' "$wanted" "$have" | sort -V | head -n1)" = "$wanted" ] ||
        fail "Rust $have is too old, $wanted is needed: install it by rustup (https://rustup.rs), and repeat."
}

rust_component() {
    cargo "$1" --version >/dev/null 2>&1 && return
    lacks rustup && fail "cargo $1 is missing: install $2 beside your Rust, for example by rustup (https://rustup.rs)."
    rustup component add "$2"
}

build_group() {
    rust_is_there
    { ! lacks cc && links_c; } || essential+=(gcc libc6-dev)
    lacks make && essential+=(make)
    lacks pkg-config && essential+=(pkg-config) # libbpf-sys finds libelf by it
    lacks clang && essential+=(clang)
    has_header libelf.h || essential+=(libelf-dev)
    has_header zlib.h || essential+=(zlib1g-dev)
    return 0
}

lab_group() {
    lacks ip && optional+=(iproute2)
    lacks nft && optional+=(nftables)
    lacks curl && optional+=(curl)
    lacks nginx && optional+=(nginx-light)
    lacks socat && optional+=(socat)
    lacks babeld && optional+=(babeld)
    lacks hostapd && optional+=(hostapd)
    lacks wpa_supplicant && optional+=(wpasupplicant)
    lacks iw && optional+=(iw)
    return 0
}

test_group() {
    rust_component fmt rustfmt
    rust_component clippy clippy
    lacks squid && optional+=(squid)
    lacks tshark && optional+=(tshark)
    lacks valgrind && optional+=(valgrind)
    lacks chromium && optional+=(chromium)
    python3 -c 'import cryptography' 2>/dev/null || optional+=(python3-cryptography)
    lacks openssl && optional+=(openssl)
    lacks ssh && optional+=(openssh-client)
    lacks sshd && optional+=(openssh-server)
    lacks rsync && optional+=(rsync)
    lacks nc.openbsd && optional+=(netcat-openbsd)
    lacks psql && optional+=(postgresql-client)
    compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null || optional+=(postgresql)
    /usr/bin/python3 -c 'import websockets' 2>/dev/null || optional+=(python3-websockets)
    return 0
}

origins_group() {
    lacks nginx && optional+=(nginx-light)
    lacks node && optional+=(nodejs)
    lacks go && optional+=(golang-go)
    return 0
}

kernel_group() {
    local program
    for program in flex bison bc xz; do
        lacks "$program" && essential+=("${program/#xz/xz-utils}")
    done
    return 0
}

qemu_group() {
    lacks qemu-system-x86_64 && optional+=(qemu-system-x86)
    lacks modprobe && optional+=(kmod)
    lacks cpio && optional+=(cpio)
    lab_group
}

model_group() {
    { ! lacks cc && links_c; } || optional+=(gcc libc6-dev)
    lacks spin && optional+=(spin)
    return 0
}

bench_group() {
    lacks ip && optional+=(iproute2)
    lacks wireguard-go && optional+=(wireguard-go)
    lacks go && optional+=(golang-go) # the newest wireguard-go is built
    lacks nginx && optional+=(nginx-light)
    lacks squid && optional+=(squid)
    return 0
}

instructions_group() {
    lacks valgrind && optional+=(valgrind)
    # The library asks for the program of its own version.
    local version
    version=$(grep -A1 '^name = "gungraun"$' Cargo.lock | sed -n 's/^version = "\(.*\)"/\1/p')
    ! lacks gungraun-runner && [ "$(gungraun-runner --version)" = "gungraun-runner $version" ] && return
    rust_is_there
    cargo install --locked gungraun-runner --version "$version"
}

static_group() {
    lacks x86_64-linux-musl-gcc && lacks musl-gcc && essential+=(musl-tools)
    ! lacks rustup || return 0
    rustup target list --installed | grep -qx x86_64-unknown-linux-musl || rustup target add x86_64-unknown-linux-musl
}

router_group() {
    rust_is_there
    local tools=${OVERHEARD_ROUTER_TOOLS:-${XDG_CACHE_HOME:-$HOME/.cache}/overheard/zig}
    lacks qemu-mips-static && optional+=(qemu-user-static)
    lacks xz && optional+=(xz-utils)
    lacks python3 && essential+=(python3)
    if [ ! -d "$(rustc --print sysroot)/lib/rustlib/src/rust/library/std" ]; then
        lacks rustup && fail "the source of the standard library is missing: install rust-src beside your Rust."
        rustup component add rust-src
    fi
    [ -x "$tools/bin/cargo-zigbuild" ] && [ "$("$tools/bin/python" -m ziglang version 2>/dev/null)" = "$zig" ] && return
    python3 -c 'import ensurepip' 2>/dev/null || essential+=(python3-venv)
    router_tools=$tools # once Python can make a virtual environment
}

install_router_tools() {
    [ -n "$router_tools" ] || return 0
    python3 -m venv "$router_tools" || fail "python3 cannot make a virtual environment in $router_tools"
    "$router_tools/bin/pip" install --quiet --disable-pip-version-check "ziglang==$zig" cargo-zigbuild==0.24.1
}

docs_group() {
    lacks mdbook || return 0
    rust_is_there
    cargo install --locked mdbook
}

pictures_group() {
    lacks dot && essential+=(graphviz)
    /usr/bin/python3 -c 'import pyte' 2>/dev/null || essential+=(python3-pyte)
    return 0
}

packages_group() {
    local program
    for program in busybox shellcheck jq skopeo umoci mmdebstrap arch-test; do
        lacks "$program" && optional+=("$program")
    done
    lacks node && optional+=(nodejs)
    lacks qemu-aarch64-static && optional+=(qemu-user-static)
    /usr/bin/python3 -c 'import debian.deb822' 2>/dev/null || optional+=(python3-debian)
    return 0
}

ns2_group() {
    lacks ns && optional+=(ns2)
    return 0
}

python_group() {
    lacks python3 && essential+=(python3)
    python3 -c 'import ensurepip' 2>/dev/null || essential+=(python3-venv)
    lacks strip && essential+=(binutils)
    return 0
}

groups=("$@")
[ $# -gt 0 ] || groups=(build lab)
for group in "${groups[@]}"; do
    case "$group" in
    build | lab | test | origins | kernel | qemu | model | bench | instructions | static | router | docs | pictures | ns2 | python | packages) "${group}_group" ;;
    *) fail "there is no group \`$group\`: build, lab, test, origins, kernel, qemu, model, bench, instructions, static, router, docs, pictures, ns2, python, packages" ;;
    esac
done

mapfile -t missing < <(printf "%s\n" "${essential[@]}" "${optional[@]}" | awk 'NF && !seen[$0]++') # two groups may name one package
if [ ${#missing[@]} -eq 0 ]; then
    install_router_tools
    echo "setup: nothing is missing (${groups[*]})"
    exit 0
fi

# Without the means to install, only what building needs is a reason to stop.
give_up() {
    [ ${#essential[@]} -eq 0 ] || fail "$1; install: ${missing[*]}"
    install_router_tools
    echo "setup: $1; left out, so that what uses it will not run: ${missing[*]}"
    exit 0
}

lacks apt-get && give_up "this is not Debian"
as_root=()
if [ "$(id -u)" -ne 0 ]; then
    lacks sudo && give_up "installing needs root, and there is no sudo"
    as_root=(sudo)
    # Nobody is there to type a password.
    [ -t 0 ] || as_root=(sudo -n)
    "${as_root[@]}" true 2>/dev/null || give_up "installing needs root, and sudo refuses"
fi

# Debian's packages start their services, and have them started at every boot, unless a policy forbids the
# first and the second is taken back.
policy=/usr/sbin/policy-rc.d
restore_policy=:
if [ ! -e "$policy" ]; then
    restore_policy="${as_root[*]} rm -f $policy"
    trap '$restore_policy' EXIT
    printf '#!/bin/sh\nexit 101\n' | "${as_root[@]}" tee "$policy" >/dev/null
    "${as_root[@]}" chmod 755 "$policy"
fi
install=(env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends)
log=$(mktemp)
if ! { "${as_root[@]}" apt-get update -qq && "${as_root[@]}" "${install[@]}" "${missing[@]}"; } >"$log" 2>&1; then
    tail -n 5 "$log" >&2
    rm -f "$log"
    give_up "apt-get failed"
fi
rm -f "$log"
install_router_tools
if ! lacks systemctl; then
    for package in "${missing[@]}"; do
        case "$package" in
        nginx-light | squid | babeld | rsync | postgresql)
            "${as_root[@]}" systemctl --quiet disable "${package%-light}.service" 2>/dev/null || true
            ;;
        openssh-server)
            "${as_root[@]}" systemctl --quiet disable ssh.service 2>/dev/null || true
            ;;
        esac
    done
fi
echo "setup: installed ${missing[*]}; no service was started"
