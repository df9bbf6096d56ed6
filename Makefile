# Everything that building, trying and checking Overheard takes. `make` alone says what there is.

SHELL := bash
.DEFAULT_GOAL := help
# Where cargo builds, and where the programs are then found.
TARGET := $(or $(CARGO_TARGET_DIR),target)
OVERHEARD := $(TARGET)/release/overheard
LABORATORY := $(TARGET)/release/overheard-lab

.PHONY: help demo build build-lab test check experiments bench instructions lab-kernel fuzz executions days seeds faults audit setup model docs results reference pictures recording deb static package-test

help: ## Say what there is
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-12s %s\n", $$1, $$2 }' Makefile

demo: setup build-lab ## Install what is missing, build, and show the main job (CONTENT=DIR fetches your own files)
	scripts/as-root $(LABORATORY) demo $(if $(CONTENT),--content "$(CONTENT)")

setup: ## Install what building and the lab need and this machine lacks
	@scripts/setup.sh

build: ## Install what building needs and this machine lacks, and build the program: target/release/overheard
	@scripts/setup.sh build
	cargo build --release --locked -p overheard

build-lab: ## The same, and the laboratory's program: target/release/overheard-lab (both at once, with the same libraries)
	@scripts/setup.sh build
	cargo build --release --locked -p overheard -p overheard-lab

test: ## Install what is missing, then formatting, lints, unit and integration tests, a corner of the experiments
	@scripts/setup.sh build lab test
	@scripts/test.sh

check: ## What make test leaves out: documents, guides, the oldest Rust, a model, fuzzing, instructions, QEMU, the quick experiments and their claims
	@scripts/setup.sh build lab test origins qemu model instructions
	@scripts/check.sh

experiments: setup build-lab ## Every experiment, whole, with pages in target/experiments
	scripts/as-root $(LABORATORY) experiment all --report $(TARGET)/experiments

bench: build-lab ## Measure how fast this machine does the work of a node, and whole tunnels
	@scripts/setup.sh bench
	$(LABORATORY) bench codec
	$(LABORATORY) bench node
	$(LABORATORY) bench recovery
	$(LABORATORY) bench scaling
	$(LABORATORY) bench cache
	scripts/as-root $(LABORATORY) bench tunnel

instructions: ## Count the instructions that a packet takes, and fail if a count has grown by more than 3%
	@scripts/setup.sh build instructions
	scripts/instructions

lab-kernel: ## Build the virtual-time kernel from Debian's source package, into lab-kernel/build
	@scripts/setup.sh build kernel
	lab-kernel/build.sh

fuzz: ## Search for inputs that break a parser, 60 seconds each (FUZZ=unit for one, SECONDS_EACH=600)
	@scripts/fuzz.sh "$(or $(SECONDS_EACH),60)" $(FUZZ)

model: ## Check the model of the handshake with spin, in every state that its bounds reach
	@scripts/setup.sh model
	docs/models/check

docs: ## Make the documents a site with search, in target/book
	@scripts/setup.sh docs
	mdbook build

results: ## Make the tables of the documents anew from the rows in docs/rows
	cargo run --locked -p overheard-lab -- results .

reference: ## Make docs/reference and the sizes in docs/operations.md anew from the code
	OVERHEARD_DRAW=1 cargo test --locked --workspace --test documents --test trace -- reference:: sizes:: frames::

pictures: ## Draw docs/pictures/*.svg again from the .dot and .cast files beside them
	@scripts/setup.sh pictures
	scripts/pictures.sh

recording: build-lab ## Record the demonstration's terminal anew, and draw it
	@scripts/setup.sh lab pictures
	scripts/recording record docs/pictures/demo.cast "make demo" -- scripts/as-root $(LABORATORY) demo
	scripts/recording draw docs/pictures/demo.cast

faults: ## Put the faults of a security review back in, one by one, and expect that tests find them (FAULT=1-replay for one)
	scripts/faults.sh $(FAULT)

executions: ## Try more inputs for every target, and tell how many it were (FUZZ=unit for one, SECONDS_IN_ALL=600; 0 tells)
	RUSTFLAGS="--cfg fuzzing" MALLOC_TRIM_THRESHOLD_=1000000000 MALLOC_MMAP_THRESHOLD_=1000000000 \
	    cargo run --locked --profile searching --target-dir target/searching -p overheard-fuzzing --example executions -- \
	    "$(or $(SECONDS_IN_ALL),600)" $(FUZZ)

days: ## Live through long days with attackers in virtual time, until there were PACKETS, and tell how many there were (0 tells)
	OVERHEARD_LONG_DAY_PACKETS=$(or $(PACKETS),0) cargo test --release --locked -p overheard-sim --test virtual_time -- \
	    --ignored --nocapture days_with_attackers

seeds: ## Write the inputs anew that fuzzing and its replay start from
	cargo run --locked -p overheard-fuzzing --example seeds

deb: build-lab ## Make the Debian packages: target/debian/overheard_*.deb and overheard-lab_*.deb
	@command -v cargo-deb >/dev/null || cargo install --locked cargo-deb
	mkdir -p target/manual target/manual-lab target/completions
	$(OVERHEARD) man --out target/manual
	$(LABORATORY) man --out target/manual-lab
	for program in overheard overheard-lab; do \
	    for shell in bash:$$program.bash zsh:_$$program fish:$$program.fish; do \
	        $(TARGET)/release/$$program completions $${shell%%:*} > target/completions/$${shell#*:} || exit 1; \
	    done; \
	    cargo deb --no-build --locked -p $$program || exit 1; \
	done

package-test: deb ## Install, start, reload, upgrade, remove and purge the packages in a copy of this machine's file system
	scripts/as-root scripts/package-test.sh $$(ls -t target/debian/overheard_*.deb | head -n1) $$(ls -t target/debian/overheard-lab_*.deb | head -n1)

static: ## Make a program that needs nothing of the system it runs on, without boost, for routers
	@scripts/setup.sh build static
	CARGO_PROFILE_RELEASE_STRIP=symbols cargo build --release --locked -p overheard --no-default-features --target x86_64-unknown-linux-musl
	@stat -c '%n: %s bytes' $(TARGET)/x86_64-unknown-linux-musl/release/overheard

audit: ## Check licences, advisories and sources of every library, and spelling
	@scripts/audit.sh
