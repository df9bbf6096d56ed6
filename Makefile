# Everything that building, trying and checking Overheard takes. `make` alone says what there is.

SHELL := bash
.DEFAULT_GOAL := help
# Where cargo builds, and where the programs are then found.
BUILT := $(or $(CARGO_TARGET_DIR),target)
OVERHEARD := $(BUILT)/release/overheard
LABORATORY := $(BUILT)/release/overheard-lab
# The program that `make router` has made for TARGET; another file by PROGRAM=FILE.
PROGRAM = $(shell scripts/router.sh path $(TARGET))
# Packages of one commit are equal to the byte.
EPOCH = $(shell git log -1 --format=%ct)

.PHONY: help demo build build-lab router router-check test check experiments bench instructions lab-kernel fuzz executions days seeds faults audit setup model docs results reference pictures recording deb static package-test wheel kernel-wheel container python-check deb-static ipk apk image packages-check

help: ## Say what there is
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-12s %s\n", $$1, $$2 }' Makefile

demo: setup build-lab ## Install what is missing, build, and show the main job (CONTENT=DIR fetches your own files)
	if [ "$$(id -u)" = 0 ] || command -v sudo >/dev/null; then \
	    scripts/as-root $(LABORATORY) demo $(if $(CONTENT),--content "$(CONTENT)"); \
	else \
	    $(LABORATORY) kernel --make && $(LABORATORY) demo $(if $(CONTENT),--content "$(CONTENT)"); \
	fi

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
	@scripts/setup.sh build lab test origins qemu model instructions packages router python
	@scripts/check.sh

experiments: setup build-lab ## Every experiment, whole, with pages in target/experiments
	scripts/as-root $(LABORATORY) experiment all --report $(BUILT)/experiments

bench: build-lab ## Measure how fast this machine does the work of a node, and whole tunnels
	@scripts/setup.sh bench
	$(LABORATORY) bench codec
	$(LABORATORY) bench node
	$(LABORATORY) bench recovery
	$(LABORATORY) bench scaling
	$(LABORATORY) bench cache
	scripts/as-root $(LABORATORY) bench tunnel
	scripts/as-root $(LABORATORY) bench faults --runs 1

instructions: ## Count the instructions that a packet takes, and fail if a count has grown by more than 3%
	@scripts/setup.sh build instructions
	scripts/instructions

lab-kernel: ## Build the virtual-time kernel from Debian's source package, into lab-kernel/build
	@scripts/setup.sh build kernel
	lab-kernel/build.sh

wheel: ## Build the Python package overheard_lab with both programs in it, a wheel in target/wheels
	@scripts/setup.sh build python
	scripts/wheel lab

kernel-wheel: lab-kernel ## Build the virtual-time kernel as a wheel in target/wheels, and the archive of its source beside it
	scripts/wheel kernel
	scripts/wheel kernel-source

container: ## Make the context of packaging/container/Containerfile by mmdebstrap, and its image where podman, buildah or docker runs
	packaging/container/make

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
	        $(BUILT)/release/$$program completions $${shell%%:*} > target/completions/$${shell#*:} || exit 1; \
	    done; \
	    cargo deb --no-build --locked -p $$program || exit 1; \
	done

deb-static: build ## Make a Debian package of the program for TARGET, which needs no libraries: target/debian/overheard_*.deb
	mkdir -p $(BUILT)/manual $(BUILT)/completions
	$(OVERHEARD) man --out $(BUILT)/manual
	for shell in bash:overheard.bash zsh:_overheard fish:overheard.fish; do \
	    $(OVERHEARD) completions $${shell%%:*} > $(BUILT)/completions/$${shell#*:} || exit 1; \
	done
	packaging/debian/build --target $(TARGET) --program $(PROGRAM) --manual $(BUILT)/manual --completions $(BUILT)/completions \
	    --epoch $(EPOCH) --out $(BUILT)/debian

OPENWRT = packaging/openwrt/pack/make $@ --target $(TARGET) --program $(PROGRAM) --epoch $(EPOCH) --out $(BUILT)/openwrt \
    $(if $(ARCHITECTURE),--architecture $(ARCHITECTURE))

ipk: ## Make OpenWrt's packages for TARGET and opkg: target/openwrt/*.ipk (ARCHITECTURE=mips_24kc for another processor)
	$(OPENWRT)

apk: ## The same for apk-tools 3, of OpenWrt 25.12 and newer: target/openwrt/*.apk
	$(OPENWRT)

image: ## Make a container image of the program for TARGET from nothing: target/image, in OCI's layout
	packaging/container/build --program $(TARGET)=$(PROGRAM) --epoch $(EPOCH) --out $(BUILT)/image

packages-check: build ## Test the packages of OpenWrt, and Debian's and the image of TARGET, by other readers than their writers
	@scripts/setup.sh packages
	scripts/openwrt-test $(OVERHEARD)
	scripts/as-root scripts/image-test $(TARGET)=$(PROGRAM)
	scripts/as-root scripts/debian-trees $(TARGET)=$(PROGRAM)

package-test: deb ## Install, start, reload, upgrade, remove and purge the packages in a copy of this machine's file system
	scripts/as-root scripts/package-test.sh $$(ls -t target/debian/overheard_*.deb | head -n1) $$(ls -t target/debian/overheard-lab_*.deb | head -n1)

static: ## Make a program that needs nothing of the system it runs on, without features, for routers
	@scripts/setup.sh build static
	CARGO_PROFILE_RELEASE_STRIP=symbols cargo build --release --locked -p overheard --no-default-features --target x86_64-unknown-linux-musl
	@stat -c '%n: %s bytes' $(BUILT)/x86_64-unknown-linux-musl/release/overheard

python-check: ## Test the Python package, and run its notebooks in their quick form
	@scripts/setup.sh build lab python
	@scripts/python-check

router: ## Make the program for a router: TARGET=aarch64, armv7, mipsel, mips, riscv64 or x86-64 (FEATURES=overhear,snoop and others)
	@scripts/setup.sh build router
	@scripts/router.sh build "$(TARGET)" "$(FEATURES)"

router-check: ## Test the tunnel on each processor of routers under qemu-user (TARGET=mips for one)
	@scripts/setup.sh build router
	@scripts/router.sh test $(TARGET)

audit: ## Check licences, advisories and sources of every library, and spelling
	@scripts/audit.sh
