#!/usr/bin/env bash
# Checks the licences, advisories, versions and sources of every library that we build on, and our spelling.
# Its two tools are built on first use, which takes minutes; no other command needs them.
set -euo pipefail
cd "$(dirname "$0")/.."
for tool in cargo-deny typos-cli; do
    program=${tool%-cli}
    command -v "$program" >/dev/null || cargo install --locked "$tool"
done
cargo deny --all-features check
typos
