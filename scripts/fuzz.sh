#!/usr/bin/env bash
# Searches for inputs that break a parser.
#
#   scripts/fuzz.sh SECONDS [TARGET...]      (no target: all of them)
#
# Needs nightly Rust and cargo-fuzz. What is found is kept in fuzz/artifacts; put it into fuzz/regressions/TARGET
# once it is mended, and the tests will replay it.
set -euo pipefail
cd "$(dirname "$0")/.."

seconds=$1
shift
cargo +nightly --version >/dev/null 2>&1 || {
    echo "fuzz: nightly Rust is missing: rustup toolchain install nightly" >&2
    exit 1
}
cargo fuzz --version >/dev/null 2>&1 || {
    echo "fuzz: cargo-fuzz is missing: cargo install cargo-fuzz" >&2
    exit 1
}
targets=("$@")
if [ ${#targets[@]} -eq 0 ]; then
    for program in fuzz/fuzz_targets/*.rs; do targets+=("$(basename "$program" .rs)"); done
fi
# The same versions of every library as the workspace.
cp Cargo.lock fuzz/Cargo.lock
for target in "${targets[@]}"; do
    printf '\n== %s, %s seconds\n' "$target" "$seconds"
    mkdir -p "fuzz/corpus/$target"
    cargo +nightly fuzz run "$target" "fuzz/corpus/$target" "fuzz/seeds/$target" -- \
        -max_total_time="$seconds" -max_len=4096
done
