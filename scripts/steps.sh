# What scripts/test.sh and scripts/check.sh share; they source it. The log of tests gives the last line of each.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
target=${CARGO_TARGET_DIR:-target}
laboratory=$target/debug/overheard-lab
left_out=() failures=() took=()
log=$(mktemp) reasons=$(mktemp)
trap 'rm -f "$log" "$reasons"' EXIT

# Says what a step is, runs it, and says how long it took; the steps after one that fails run too.
step() {
    local name=$1 began=$SECONDS
    shift
    printf '\n== %s\n' "$name"
    "$@" || failures+=("$name")
    took+=("$(printf '%5d s  %s' $((SECONDS - began)) "$name")")
}

# Copies its input, and keeps the lines of this form for the summary.
reasoned() { awk -v form="$1" -v reasons="$reasons" '{ print; fflush() } $0 ~ form { print >>reasons }'; }

# Runs `cargo test` with these arguments. Tests that make namespaces and devices run as root where that can be had without
# asking, and otherwise skip themselves; those of other crates never do.
tests() { cargo "${runner[@]}" test --workspace --locked --no-fail-fast "$@" 2>&1 | tee -a "$log"; }

runner=() as_root=()
if [ "$(id -u)" -ne 0 ]; then
    if sudo -n true 2>/dev/null; then
        runner=(--config "target.'cfg(all())'.runner='$PWD/scripts/test-runner'")
        as_root=(sudo -n --preserve-env=OVERHEARD_DATA,OVERHEARD_LAB_KERNEL)
    else
        left_out+=("what needs root (namespaces, TUN devices, real tunnels): run \`sudo -v\` first, or this as root")
    fi
fi

kernel=${OVERHEARD_LAB_KERNEL:-}
# The places of `overheard-lab kernel`.
for place in "${XDG_CACHE_HOME:-${HOME:-}/.cache}/overheard/kernels/in-use/linux" lab-kernel/build/linux ../shared/lab-kernel/linux; do
    [ -n "$kernel" ] || [ ! -f "$place" ] || kernel=$place
done
# Notebooks run in folders of their own.
[ -z "$kernel" ] || kernel=$(realpath "$kernel")
[ -n "$kernel" ] || left_out+=("what runs in the virtual-time kernel: \`overheard-lab kernel --make\` builds it")

# Names what failed and what was left out, and ends with the number of tests. Steps that fail count at least one each.
summary() {
    printf '\n== summary\n'
    local what
    printf '%s\n' "${took[@]}"
    for what in "${left_out[@]}"; do echo "left out: $what"; done
    for what in "${failures[@]}"; do echo "failed: $what"; done
    cat "$reasons"
    grep '^test .* FAILED$' "$log" || true
    awk -v steps="${#failures[@]}" '
        /^test result: / { passed += $4; failed += $6; skipped += $8 }
        END { printf "%d passed, %d failed, %d skipped\n", passed, (failed > steps ? failed : steps), skipped }' "$log"
    [ ${#failures[@]} -eq 0 ]
}
