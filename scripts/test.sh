#!/usr/bin/env bash
# What a contributor runs: formatting, lints, unit and integration tests, and a corner of the experiments. Says what it left
# out. scripts/check.sh has the rest.
source "$(dirname "$0")/steps.sh"

# rustfmt leaves comments as they are. Pictures in fences and the rows of tables may be wider. A word that is longer than a
# line may stand alone.
comments() {
    git ls-files -z '*.rs' | xargs -0 perl -CSD -ne '
        m{^\s*//[/!]? ?```} and $fence = !$fence;
        if (length() > 111 && !$fence && m{^(?:[^"]*\s)?//[/!]? ?(.*)} && $1 !~ m{^\|} && $1 =~ m{\S\s+\S}) {
            print "$ARGV:$.: ", substr($_, 0, 100), "...\n";
            $long = 1;
        }
        if (eof) { close ARGV; $fence = 0 }
        END { print "comments have at most 110 columns\n" if $long; $? = $long ? 1 : 0 }'
}

# The laboratory's way to run experiments: in the virtual-time kernel, and in one process where there is none. Claims are held
# against the kept list by scripts/check.sh, which runs every experiment.
corner() {
    local driver=virtual
    [ -n "$kernel" ] || driver=sim
    echo "by the driver $driver"
    "${as_root[@]}" "$laboratory" experiment byte-caching --figure 6 --figure section-7 --quick --driver "$driver" >/dev/null
}

step "formatting" cargo fmt --all --check
step "comments" comments
step "lints" cargo clippy --workspace --all-targets --locked -- -D warnings
# --tests: what documentation shows is run by scripts/check.sh, and examples are only linted.
step "tests" tests --tests
step "a corner of the experiments" corner
summary
