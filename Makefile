# The front door. `make help` lists what there is; the building itself is CMakeLists.txt,
# the steps of the tests are scripts/test.
B    ?= build
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
CMAKE = cmake -S . -B
PREFIX ?= /usr/local

.DEFAULT_GOAL := build
.PHONY: build run test test-c quick matrix nvrtc bench bench-gpu bless docs doxygen format install fuzz asan tsan \
	clean help setup missing

build: missing $(B)/CMakeCache.txt  ## libhop, the command, tests and examples into build/
	@cmake --build $(B) -j$(JOBS) -- -k --no-print-directory $(if $(findstring s,$(MAKEFLAGS)),-s)

$(B)/CMakeCache.txt:
	@$(CMAKE) $(B) >$(B).log 2>&1 || { cat $(B).log; rm -f $(B).log; exit 1; }
	@mv $(B).log $(B)/configure.log

run: setup                          ## install what is missing, build, run the first and a telling example
	@$(MAKE) --no-print-directory build
	@$(B)/examples/first
	@$(B)/examples/07_ode

test: setup                         ## everything a change must pass; under 20 minutes
	@scripts/test

quick: setup                        ## build, unit tests, golden files, checks; some minutes
	@scripts/test quick

matrix: missing                     ## run one program a cell, write docs/matrix.md
	@scripts/test matrix-write

test-c: missing                     ## every native test with the C target; an hour or less
	@scripts/test ctarget-all

nvrtc: missing                      ## compile CUDA texts by NVRTC, which needs no device
	@scripts/test nvrtc

bench: missing                      ## ratios to hand-written C and to the machine's peak
	@bench/run

bench-gpu: missing                  ## programs on a CUDA device beside their goals, PyTorch and JAX
	@bench/gpu/run

bless: build                        ## rewrite the expected text of golden files; read git diff
	@tools/golden.sh -b test/golden/*/*.hop test/golden/*/*.txt

format: missing                     ## hold C to uncrustify.cfg; read git diff
	@tools/format

docs:                               ## write the generated pages, headers and constructors
	@mkdir -p $(B)
	@tools/opdoc >$(B)/ops.md && cp $(B)/ops.md docs/ops.md
	@$(CC) -std=c11 -Isrc -Iinclude tools/opgen.c -o $(B)/opgen
	@$(B)/opgen ops >$(B)/ops.h && cp $(B)/ops.h include/hop/ops.h
	@$(B)/opgen hpp >$(B)/ops.hpp && cp $(B)/ops.hpp include/hop/ops.hpp
	@$(B)/opgen rows >$(B)/rows.h && cp $(B)/rows.h include/hop/rows.h
	@$(B)/opgen code >$(B)/rows.c && cp $(B)/rows.c src/trace/rows.c

doxygen:                            ## pages of the public headers: build/doxygen/html
	@mkdir -p $(B) && doxygen

install: build                      ## PREFIX=/usr/local
	@cmake --install $(B) --prefix $(PREFIX)

fuzz: missing                       ## fuzz until stopped: FUZZ=parse_fuzz, LIMIT=600
	@scripts/test fuzz-long

asan: missing                       ## tests and the command under address, undefined, leak checks
	@scripts/test asan asan-golden asan-command

tsan: missing                       ## tests with threads under the thread sanitizer
	@scripts/test tsan

clean:                              ## remove build/
	@rm -rf $(B) $(B).log

help:                               ## this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/\1	\2/p' Makefile | expand -t 10

setup:                              ## install what is missing (Debian and kin)
	@scripts/setup

# Packages are installed by run, test, quick and setup; whoever asks for anything else is told
# what is missing, and then the compiler has its say.
missing:
	@scripts/setup -n || true
