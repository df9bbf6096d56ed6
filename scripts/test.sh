#!/usr/bin/env bash
# Formatting, lints, every test of the workspace and the quick experiments; says what had to be left out.
set -euo pipefail
cd "$(dirname "$0")/.."

step() { printf '\n== %s\n' "$*"; }

step "formatting"
cargo fmt --all --check

step "lints"
cargo clippy --workspace --all-targets --locked -- -D warnings

# Tests that make namespaces and devices run as root where that can be had without asking, and otherwise skip
# themselves; those of other crates never do.
runner=() as_root=() left_out=()
if [ "$(id -u)" -ne 0 ]; then
    if sudo -n true 2>/dev/null; then
        runner=(--config "target.'cfg(all())'.runner='$PWD/scripts/test-runner'")
        as_root=(sudo -n --preserve-env=OVERHEARD_DATA,OVERHEARD_LAB_KERNEL)
    else
        left_out+=("what needs root (namespaces, TUN devices, real tunnels): run \`sudo -v\` first, or this as root")
    fi
fi
kernel=${OVERHEARD_LAB_KERNEL:-}
for place in lab-kernel/build/linux ../shared/lab-kernel/linux; do
    [ -n "$kernel" ] || [ ! -f "$place" ] || kernel=$place
done
[ -n "$kernel" ] || left_out+=("what runs in the virtual-time kernel: build it by \`make lab-kernel\`")

qemu=1
why=$(scripts/in-qemu true 2>&1) || {
    qemu=
    left_out+=("what runs in Debian's own kernel, such as real Wi-Fi code: ${why##*$'\n'}")
}

step "tests"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
status=0
cargo "${runner[@]}" test --workspace --locked --no-fail-fast 2>&1 | tee "$log" || status=$?

# Tests that this kernel can or cannot run, in one that is older and has simulated radios: time there is its own.
if [ "$status" -eq 0 ] && [ -n "$qemu" ]; then
    for tests in "--test overhearing -- wi_fi" "--test boost"; do
        step "in Debian's own kernel: $tests"
        # The whole workspace is named because libraries have other features for one crate, and would be built again.
        # shellcheck disable=SC2086
        cargo --config "target.'cfg(all())'.runner=['$PWD/scripts/in-qemu', '--radios', '3']" test --locked \
            --workspace $tests 2>&1 | tee -a "$log" || status=$?
    done
fi

target=${CARGO_TARGET_DIR:-target}
# By whatever this machine has: in one process, in the kernel of virtual time, on this kernel as root.
if [ "$status" -eq 0 ]; then
    step "every experiment, a few cells of each figure"
    rm -rf "$target/experiments-quick"
    "${as_root[@]}" "$target/debug/overheard" experiment all --quick --report "$target/experiments-quick" || status=$?
fi

step "summary"
for what in "${left_out[@]}"; do echo "left out: $what"; done
awk '/^test result: / { passed += $4; failed += $6; skipped += $8 }
     END { printf "%d passed, %d failed, %d skipped\n", passed, failed, skipped }' "$log"
exit "$status"
