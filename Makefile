# The front door. What builds is in CMakeLists.txt and CMakePresets.json, what checks and runs in tools/.
MAKEFLAGS += --no-print-directory
PREFIX ?= /usr/local
LIBDIR ?= $(PREFIX)/lib
# What is installed as `sonde`: one static file, or build/release/sonde-shared, which uses libsonde.so.
PROGRAM ?= build/release/sonde
VERSION := $(shell sed -n 's/^project.sonde VERSION \([0-9.]*\) .*/\1/p' CMakeLists.txt)
# What `make fuzz` gives each target.
SECONDS ?= 60

.PHONY: all run test quick check soak screenshots fuzz performance early-code event-table oracle-digests format install install-files package abi clean help
.PHONY: dev asan release check-format check-layers check-names check-sizes check-docs check-types check-abi check-hardening check-aarch64 check-tidy

all: release ## build/sonde and build/libsonde.so, as people install them (the default)
	@ln -sfn release/sonde build/sonde
	@ln -sfn release/libsonde.so build/libsonde.so

run: ## installs what is missing, builds, traces and records a sample service, starts the controller and prints its link
	@tools/install run
	@$(MAKE) all
	@tools/demo

test: ## installs what is missing, builds, checks, runs every suite: the gate
	@tools/install test
	@$(MAKE) dev asan all
	@tools/run-tests

quick: dev ## what changed, in a minute or two: unit tests and checks, without the sanitizers, clang-tidy and real processes
	@tools/run-tests -R '^(prepare/locale$$|unit/|check/|fuzz/)' -E '_live_test$$|^unit/kernel_|^check/(tidy|hardening|cost|aarch64|abi|names-test)'

check: check-format check-layers check-names check-sizes check-docs check-types check-abi check-hardening check-aarch64 check-tidy ## formatter, layers, names, sizes, documentation, types of the page, interface, hardening, 64-bit ARM, clang-tidy

soak: all dev asan ## the long versions of what `make test` samples, or some PARTS=; figures in build/soak.txt
	@tests/soak/run $(PARTS)

screenshots: dev ## README's pictures anew, by the browser tests
	@tools/screenshots

fuzz: ## every fuzz target for SECONDS=60 each
	@tools/install fuzz
	@tools/fuzz $(SECONDS)

performance: all ## measures sonde and its peers in turns, and writes docs/performance.md; hours
	@bench/run

early-code: all ## writes cmake/early.ld again, from what short commands touch of the program
	@tools/early-code

event-table: ## writes src/clr/runtime_events_table.c again, from the runtimes' own manifests
	@tools/event-table/generate

oracle-digests: ## asks TraceEvent again what is in the recordings
	@tests/interop/regenerate

format: ## formats every C file
	@tools/check-format --fix

install: all install-files ## to PREFIX=/usr/local, LIBDIR=PREFIX/lib, below DESTDIR if that is given

install-files: # what is built already
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(LIBDIR)/pkgconfig $(DESTDIR)$(PREFIX)/include/sonde \
		$(DESTDIR)$(PREFIX)/share/man/man1 $(DESTDIR)$(PREFIX)/share/bash-completion/completions
	install -m 755 $(PROGRAM) $(DESTDIR)$(PREFIX)/bin/sonde
	install -m 644 build/release/libsonde.so.$(VERSION) $(DESTDIR)$(LIBDIR)
	cp -Pf build/release/libsonde.so build/release/libsonde.so.0 $(DESTDIR)$(LIBDIR)
	sed 's|@PREFIX@|$(PREFIX)|; s|@LIBDIR@|$(LIBDIR)|; s|@VERSION@|$(VERSION)|' tools/sonde.pc.in \
		> $(DESTDIR)$(LIBDIR)/pkgconfig/sonde.pc
	install -m 644 include/sonde/*.h $(DESTDIR)$(PREFIX)/include/sonde
	install -m 644 docs/man/*.1 $(DESTDIR)$(PREFIX)/share/man/man1
	build/release/sonde completion bash > $(DESTDIR)$(PREFIX)/share/bash-completion/completions/sonde
	chmod 644 $(DESTDIR)$(LIBDIR)/pkgconfig/sonde.pc $(DESTDIR)$(PREFIX)/share/bash-completion/completions/sonde

package: all ## dist/: a tarball with one static file, a .deb, their components (SPDX), checksums
	@tools/package $(OUT)

abi: ## says that the present interface of libsonde.so is the one to keep (tests/abi)
	@tools/check-abi --update

clean: ## removes build/ and dist/
	rm -rf build dist

help: ## this list
	@awk -F ': .*## |:.*## ' '/^[a-z-]+:.*## / { printf "  make %-16s %s\n", $$1, $$2 }' Makefile

dev asan release: %: build/%/build.ninja
	@cmake --build --preset $@

# Ninja runs cmake again by itself when a CMakeLists.txt changes, but does not know of presets.
build/%/build.ninja: CMakePresets.json
	@tools/install $(if $(filter release,$*),build,test)
	@cmake --preset $* > /dev/null
	@touch $@

check-names check-tidy: dev
check-hardening: release
check-format check-layers check-names check-sizes check-docs check-types check-abi check-hardening check-aarch64 check-tidy:
	@tools/$@
