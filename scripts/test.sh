#!/usr/bin/env bash
# What a contributor runs: formatting, lints, unit and integration tests, and a corner of the experiments. Says what it left
# out. scripts/check.sh has the rest.
source "$(dirname "$0")/steps.sh"

# rustfmt leaves comments as they are. Counted in characters, hence the locale.
comments() {
    local long
    long=$(git ls-files '*.rs' | LC_ALL=C.UTF-8 xargs -d '\n' grep -nP '^(?=.{111})([^"]*\s)?//' | cut -c1-150)
    [ -z "$long" ] || { printf '%s\n' "$long" "comments have at most 110 columns" >&2; false; }
}

# The laboratory's way to run experiments: in the virtual-time kernel, and in one process where there is none.
corner() {
    local driver=virtual
    [ -n "$kernel" ] || driver=sim
    echo "by the driver $driver"
    "${as_root[@]}" "$laboratory" experiment byte-caching --quick --seeds 1 --driver "$driver" >/dev/null
}

step "formatting" cargo fmt --all --check
step "comments" comments
step "lints" cargo clippy --workspace --all-targets --locked -- -D warnings
step "tests" tests
step "a corner of the experiments" corner
summary
