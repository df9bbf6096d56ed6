#!/usr/bin/env bash
# Shows that tests find the faults of a security review: puts each fault back in, and expects its test to fail. The faults are
# patches in scripts/faults; the first line of each names the test. `scripts/faults.sh 1-replay` takes one of them.
#
# A checkout and a target folder of their own are in target/faults; what is being worked on is not touched.
set -euo pipefail
cd "$(dirname "$0")/.."
faults=scripts/faults
work=$PWD/target/faults
tree=$work/tree
export CARGO_TARGET_DIR=$work/target

[ -d "$tree" ] || git clone --quiet --shared --no-checkout . "$tree"
git -C "$tree" fetch --quiet origin
commit=$(git rev-parse HEAD)
trap 'git -C "$tree" checkout --quiet --force' EXIT

chosen=("${@:-}")
[ -n "${chosen[0]}" ] || mapfile -t chosen < <(basename --suffix=.patch "$faults"/*.patch | sort -V)

# Tests of this fault. A test that does not compile, or that nothing matches, finds nothing.
try() {
    read -ra arguments <<<"$(sed -n '1s/^# test: //p' "$faults/$1.patch")"
    (cd "$tree" && cargo test --workspace --locked --no-fail-fast "${arguments[@]}") >"$work/$1.log" 2>&1
}

missed=()
for fault in "${chosen[@]}"; do
    git -C "$tree" checkout --quiet --force --detach "$commit"
    git -C "$tree" apply "$PWD/$faults/$fault.patch"
    if try "$fault" || ! grep -qE '^test .* \.\.\. FAILED$' "$work/$fault.log"; then
        missed+=("$fault")
        printf '%-30s not found: see %s\n' "$fault" "$work/$fault.log"
    else
        printf '%-30s found by %s tests, such as %s\n' "$fault" "$(grep -cE '^test .* \.\.\. FAILED$' "$work/$fault.log")" \
            "$(sed -nE 's/^test (.*) \.\.\. FAILED$/\1/p' "$work/$fault.log" | head -n 1)"
    fi
done
[ "${#missed[@]}" -eq 0 ]
