# Everything that building, trying and checking Overheard takes. `make` alone says what there is.

SHELL := bash
.DEFAULT_GOAL := help
# Where cargo builds, and where the programs are then found.
TARGET := $(or $(CARGO_TARGET_DIR),target)
OVERHEARD := $(TARGET)/release/overheard

.PHONY: help demo build test experiments bench lab-kernel fuzz seeds audit setup deb static package-test

help: ## Say what there is
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-12s %s\n", $$1, $$2 }' Makefile

demo: setup build ## Install what is missing, build, and show the main job (CONTENT=DIR fetches your own files)
	scripts/as-root $(OVERHEARD) demo $(if $(CONTENT),--content "$(CONTENT)")

setup: ## Install what building and the lab need and this machine lacks
	@scripts/setup.sh

build: ## Install what building needs and this machine lacks, and build the program: target/release/overheard
	@scripts/setup.sh build
	cargo build --release --locked -p overheard

test: ## Install what is missing, then formatting, lints, every test and the quick experiments
	@scripts/setup.sh build lab test qemu
	@scripts/test.sh

experiments: setup build ## Every experiment, whole, with pages in target/experiments
	scripts/as-root $(OVERHEARD) experiment all --report $(TARGET)/experiments

bench: build ## Measure how fast this machine does the work of a node, and whole tunnels
	@scripts/setup.sh bench
	$(OVERHEARD) bench codec
	$(OVERHEARD) bench node
	$(OVERHEARD) bench recovery
	$(OVERHEARD) bench scaling
	$(OVERHEARD) bench cache
	scripts/as-root $(OVERHEARD) bench tunnel

lab-kernel: ## Build the virtual-time kernel from Debian's source package, into lab-kernel/build
	@scripts/setup.sh build kernel
	lab-kernel/build.sh

fuzz: ## Search for inputs that break a parser, 60 seconds each (FUZZ=unit for one, SECONDS_EACH=600)
	@scripts/fuzz.sh "$(or $(SECONDS_EACH),60)" $(FUZZ)

seeds: ## Write the inputs anew that fuzzing and its replay start from
	cargo run --locked -p overheard-fuzzing --example seeds

deb: build ## Make the Debian package: target/debian/overheard_*.deb
	@command -v cargo-deb >/dev/null || cargo install --locked cargo-deb
	mkdir -p target/manual target/completions
	$(OVERHEARD) man --out target/manual
	$(OVERHEARD) completions bash > target/completions/overheard.bash
	$(OVERHEARD) completions zsh > target/completions/_overheard
	$(OVERHEARD) completions fish > target/completions/overheard.fish
	cargo deb --no-build --locked -p overheard

package-test: deb ## Install, start, reload, upgrade, remove and purge the package in a copy of this machine's file system
	scripts/as-root scripts/package-test.sh $$(ls -t target/debian/overheard_*.deb | head -n1)

static: ## Make a program that needs nothing of the system it runs on, without boost, for routers
	CARGO_PROFILE_RELEASE_STRIP=symbols cargo build --release --locked -p overheard --no-default-features --target x86_64-unknown-linux-musl
	@stat -c '%n: %s bytes' $(TARGET)/x86_64-unknown-linux-musl/release/overheard

audit: ## Check licences, advisories and sources of every library, and spelling
	@scripts/audit.sh
