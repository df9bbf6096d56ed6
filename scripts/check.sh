#!/usr/bin/env bash
# What scripts/test.sh leaves to those who wait longer: the documents and guides, the code's own documentation, the oldest
# Rust that must do, the model of the handshake, a minute of fuzzing, counted instructions, Debian's kernel in
# QEMU, a big-endian processor of 32 bits, the Python package with its notebooks, and every experiment with its claims.
# `make router-check` stands apart.
source "$(dirname "$0")/steps.sh"

claims=crates/research/experiments/claims.toml
oldest=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)

# Private items are documented too, so that links to them are good.
rustdoc() {
    RUSTDOCFLAGS="-D warnings -A rustdoc::private_intra_doc_links" \
        cargo doc --workspace --no-deps --document-private-items --locked --keep-going
}

# Without rustup there is still clippy::incompatible_msrv, which knows the standard library and not the language.
oldest_rust() {
    if ! rustup toolchain install "$oldest" --profile minimal --no-self-update >/dev/null 2>&1; then
        left_out+=("a build by Rust $oldest: rustup cannot fetch it; clippy still looks at the standard library's versions")
        return 0
    fi
    cargo "+$oldest" check --workspace --locked
}

# Tests that this kernel can or cannot run, in one that is older and has simulated radios: time there is its own. The whole
# workspace is named because libraries have other features for one crate, and would be built again.
in_qemu() {
    local runner=(--config "target.'cfg(all())'.runner=['$PWD/scripts/in-qemu', '--radios', '3']")
    tests "$@"
}

# What strangers, members and clients send, with inputs that follow from the commit: one that fails does so again, and the test
# says how to keep the input.
fuzzing() {
    local commit
    commit=$(git rev-parse HEAD 2>/dev/null || echo 1)
    OVERHEARD_FUZZ_NUMBER=$((16#${commit:0:12})) tests --test replay -- --ignored --nocapture a_minute
}

# By whatever this machine has: in one process, in the kernel of virtual time, on this kernel as root.
experiments() {
    rm -rf "$target/experiments-quick"
    "${as_root[@]}" "$laboratory" experiment all --quick --report "$target/experiments-quick" --kept "$claims" |
        reasoned '^does not hold'
}

# A build for routers leaves features out.
without_features() { cargo clippy -p overheard --no-default-features --locked -- -D warnings; }

# A sample of the rows that documents are made of: a value that leaves its kept interval fails. The simulated one needs no kernel.
kept_rows() {
    local again=(--again 'refactor sim 3')
    [ -z "$kernel" ] || again+=(--again 'byte-caching virtual section-7')
    "$laboratory" results "${again[@]}" | reasoned ' was kept, now '
}

python_package() { scripts/python-check 2>&1 | reasoned '^(FAIL|ERROR|error|([0-9a-z-]+.ipynb: )?[A-Za-z_.]+Error): '; }

step "the code's documentation" rustdoc
step "examples in documentation" tests --doc
step "Rust $oldest" oldest_rust
step "lints of the documents' tests" cargo clippy --workspace --test documents --locked -- -D warnings
# A program is built beside a test of its own package: the documents name both.
step "the programs" cargo test --workspace --locked --no-run --test documents --test trace
step "documents and guides" tests --test documents
if why=$(scripts/openwrt-test --why-not 2>&1); then
    step "OpenWrt's packages" "${as_root[@]}" scripts/openwrt-test "$target/debug/overheard"
else
    left_out+=("OpenWrt's packages: $why")
fi
if command -v spin >/dev/null; then
    step "the model of the handshake" docs/models/check
else
    left_out+=("the model of the handshake: spin is not installed")
fi
step "a program without features" without_features
if why=$(scripts/router.sh why-not mips 2>&1); then
    step "the tunnel on big-endian MIPS" scripts/router.sh test --quick mips
else
    left_out+=("the tunnel on processors of routers: $why")
fi
step "a minute of fuzzing" fuzzing
step "copies of a payload" tests --test copies -- --ignored --test-threads=1
if why=$(scripts/instructions --why-not 2>&1); then
    step "instructions that a packet takes" scripts/instructions
else
    left_out+=("instructions that a packet takes: $why")
fi
if why=$(scripts/in-qemu true 2>&1); then
    step "in Debian's own kernel: radios and boost" in_qemu --test program --test overhearing -- wi_fi boost::
else
    left_out+=("what runs in Debian's own kernel, such as real Wi-Fi code: ${why##*$'\n'}")
fi
if why=$(scripts/python-check --why-not 2>&1); then
    step "the Python package and its notebooks" python_package
else
    left_out+=("the Python package and its notebooks: ${why##*$'\n'}")
fi
step "a sample of the kept rows, again" kept_rows
step "every experiment, a few cells of each figure" experiments
summary
