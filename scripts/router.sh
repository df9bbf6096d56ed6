#!/usr/bin/env bash
# Builds the program for a router's processor, and tests the tunnel on it.
#
#   scripts/router.sh build TARGET [FEATURES]   builds the program, without features if none are named
#   scripts/router.sh test [--quick] TARGET...  tests the tunnel's crates under qemu-user
#   scripts/router.sh emulator TARGET           the emulator of a target; nothing for this machine's own
#   scripts/router.sh path TARGET               the program that `build` makes
#   scripts/router.sh example TARGET PACKAGE NAME  builds an example for counting instructions, and says where it is
#   scripts/router.sh install TARGET PROGRAM DIR  builds a program of the registry, as others are compared
#   scripts/router.sh why-not TARGET...         says why it cannot test a target here, and fails in that case
#   scripts/router.sh targets                   the targets
#
# TARGET is aarch64, armv7, mipsel, mips, riscv64 or x86-64, all with musl. FEATURES are cargo's, with commas.
# --quick leaves out property tests and virtual time, and expects the vectors and the unit tests. Properties without a
# number of their own are tried on 32 inputs, an eighth of what other machines try (PROPTEST_CASES): an emulator is ten
# times slower.
#
# rustup has a standard library for two of them. cargo builds it here for all, with the size of everything else: that
# takes RUSTC_BOOTSTRAP, which lets the stable compiler use `-Z build-std`. Zig is the C compiler and the linker.
set -euo pipefail
cd "$(dirname "$0")/.."

targets=(aarch64 armv7 mipsel mips riscv64 x86-64)
crates=(wire re overhear recovery streams node)
tools=${OVERHEARD_ROUTER_TOOLS:-${XDG_CACHE_HOME:-$HOME/.cache}/overheard/zig}
export PATH="$tools/bin:$PATH" RUSTC_BOOTSTRAP=1 CARGO_INCREMENTAL=0
built=${CARGO_TARGET_DIR:-target}/router
export CARGO_TARGET_DIR=$built

fail() { printf 'router: %s\n' "$1" >&2; exit 2; }

triple() {
    case "$1" in
    aarch64 | mipsel | mips) echo "$1-unknown-linux-musl" ;;
    armv7) echo armv7-unknown-linux-musleabihf ;;
    riscv64) echo riscv64gc-unknown-linux-musl ;;
    x86-64) echo x86_64-unknown-linux-musl ;;
    *) fail "there is no target \`$1\`: ${targets[*]}" ;;
    esac
}

# The emulator of a target; its own processor needs none.
emulator() {
    case "$1" in
    x86-64) ;;
    armv7) echo qemu-arm-static ;;
    *) echo "qemu-$1-static" ;;
    esac
}

# Zig links the start files of musl itself. rustc would add its own, which are on this machine only if rustup
# installed the target. For MIPS, a program that moves would not have null in place of the weak symbols that
# musl lacks, and the standard library would call them. With 32 bits, rustix takes the time from musl in the
# form of version 1.2, which Zig's is. The crate libc must do so, too: otherwise clocks show anything.
flags() {
    case "$1" in
    armv7) echo "-C link-self-contained=no --cfg=libc_unstable_musl_v1_2" ;;
    mips | mipsel) echo "-C relocation-model=static --cfg=libc_unstable_musl_v1_2" ;;
    *) echo "-C link-self-contained=no" ;;
    esac
}

# A packet's rest is compressed at zstd's first level: the strategies of higher ones are left out.
strategies=(DFAST GREEDY LAZY LAZY2 BTLAZY2 BTOPT BTULTRA)
excluded=$(printf -- '-DZSTD_EXCLUDE_%s_BLOCK_COMPRESSOR ' "${strategies[@]}")

# A fault ends the program at once and walks no frames: the tables of frames are left out.
frameless_c="-fno-unwind-tables -fno-asynchronous-unwind-tables"
frameless="-C force-unwind-tables=no"

# cargo asks the linker to take out what is for a debugger, and Zig takes out all symbols then.
symbols="-C strip=none"

# What cargo makes has symbols, for scripts/router-bloat; scripts/router-strip keeps what the kernel loads.
program() { echo "$built/$(triple "$1")/flash/overheard"; }

compile() { # target, what cargo is to build
    local target=$1
    shift
    CFLAGS="$excluded $frameless_c" RUSTFLAGS="$(flags "$target") $frameless $symbols" cargo-zigbuild zigbuild --profile router --locked \
        -Z build-std=std,panic_abort -Z build-std-features=optimize_for_size --target "$(triple "$target")" "$@"
}

build() {
    local target=$1 features=${2:-}
    compile "$target" -p overheard --no-default-features --features "$features"
    local file
    file=$(program "$target")
    mkdir -p "$(dirname "$file")"
    scripts/router-strip "$built/$(triple "$target")/router/overheard" "$file"
    printf '%s: %s bytes, %s by xz\n' "$file" "$(stat -c %s "$file")" "$(xz -9e -c "$file" | wc -c)"
}

# An example of the workspace, with the flags of the program.
example() {
    local target=$1 package=$2 name=$3
    compile "$target" -p "$package" --example "$name"
    echo "$built/$(triple "$target")/router/examples/$name"
}

# A program of the registry, for comparisons: the same compiler, profile and standard library. Its libraries may be
# shared ones, which have to be movable on MIPS, too.
install() {
    local target=$1 program=$2 root=$3 flags
    flags=$(flags "$target")
    CARGO_PROFILE_RELEASE_STRIP=symbols RUSTFLAGS=${flags/relocation-model=static/relocation-model=pic} cargo-zigbuild install --locked \
        -Z build-std=std,panic_abort --target "$(triple "$target")" --root "$root" "$program"
}

# Names of the tests with random inputs among the crates' own.
random_tests() {
    local folders=("${crates[@]/#/crates/tunnel/}")
    find "${folders[@]/%//src}" -name '*.rs' -exec awk '
        /^ *proptest! \{/ { match($0, /^ */); indent = RLENGTH; within = 1; next }
        within && /^ *\}/ { match($0, /^ */); if (RLENGTH == indent) within = 0 }
        within && /^ *fn / { sub(/^ *fn /, ""); sub(/[(<].*/, ""); print }' {} + | sort -u
}

# Steps of the quick run: the vectors, and each crate's own tests but those with random inputs.
check() {
    local quick=$1 target=$2 packages=() crate
    for crate in "${crates[@]}"; do packages+=(-p "overheard-$crate"); done
    local runner
    runner=CARGO_TARGET_$(triple "$target" | tr 'a-z-' 'A-Z_')_RUNNER
    export "$runner=$(emulator "$target")"
    local profile=router-check-whole tests=(--tests) skipped=() name
    if [ -n "$quick" ]; then
        profile=router-check
        tests=(--lib --test vectors)
        for name in $(random_tests); do skipped+=(--skip "$name"); done
    fi
    export PROPTEST_CASES=${PROPTEST_CASES:-32}
    RUSTFLAGS=$(flags "$target") cargo-zigbuild test --profile "$profile" --locked --no-fail-fast \
        -Z build-std=std,panic_unwind,test --target "$(triple "$target")" "${packages[@]}" "${tests[@]}" -- "${skipped[@]}"
}

case "${1:-}" in
build)
    [ $# -ge 2 ] || fail "name a target: ${targets[*]}"
    build "$2" "${3:-}"
    ;;
test)
    shift
    quick=
    [ "${1:-}" != --quick ] || { quick=yes; shift; }
    [ $# -gt 0 ] || set -- "${targets[@]}"
    for target; do
        printf '\n== %s\n' "$target"
        check "$quick" "$target"
    done
    ;;
path)
    triple "${2:-}" >/dev/null
    program "$2"
    ;;
emulator) emulator "${2:-}" ;;
example) example "$2" "$3" "$4" ;;
why-not)
    shift
    [ -x "$tools/bin/cargo-zigbuild" ] || fail "cargo-zigbuild is missing: scripts/setup.sh router installs it"
    for target; do
        emulates=$(emulator "$target")
        [ -z "$emulates" ] || command -v "$emulates" >/dev/null || fail "$emulates is not installed"
    done
    ;;
install) install "$2" "$3" "$4" ;;
targets) printf '%s\n' "${targets[@]}" ;;
*) fail "build TARGET [FEATURES], test [--quick] TARGET..., path TARGET, or targets" ;;
esac
