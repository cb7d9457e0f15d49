# Two commands are all that a fresh Debian 12 machine needs: make demo, make test.
# Everything they need is installed on the way (scripts/packages.txt, tests/tools/package.json).

SHELL := /bin/bash
JOBS ?= $(shell nproc)
FUZZ_SECONDS ?= 60
TOOLS := tests/tools/node_modules/.ready-with-helm

.PHONY: all build test demo image bench fuzz lint format debug clang clean soak mutants packages tools page definitions real-tools real real-1.34 bench-upstream

all: build

packages:
	@scripts/install-packages

# Genuine kubectl of three versions, Helm and @kubernetes/client-node, for tests and the demo.
tools: $(TOOLS)
$(TOOLS): tests/tools/package.json tests/tools/package-lock.json scripts/install-tools | packages
	@scripts/install-tools

# The resource definitions of Flux and Argo CD, against which bundles are tested; needs Go, and says so.
definitions:
	@scripts/real-tools definitions

# The same, and helmfile, which takes minutes to build, once: its test is skipped until then.
real-tools: packages
	@scripts/real-tools

# The dashboard's page, by npm; the program embeds it.
page: packages
	@scripts/build-page

build: packages page
	@cmake --preset release > build-configure.log 2>&1 || { cat build-configure.log; exit 1; }; rm -f build-configure.log
	@cmake --build --preset release -j $(JOBS) --target lockstep lockstep-dra-plugin

test: packages tools page definitions
	@cmake --preset release > build-configure.log 2>&1 || { cat build-configure.log; exit 1; }; rm -f build-configure.log
	@cmake --build --preset release -j $(JOBS)
	@ctest --preset release -j 2

# The same program on a genuine Kubernetes, which is built once (minutes) and kept outside of this folder. Needs Go,
# and says so. Both are built at the same time: the one fills the pauses of the other.
real: packages tools
	@cmake --preset release > build-configure.log 2>&1 || { cat build-configure.log; exit 1; }; rm -f build-configure.log
	@scripts/real-cluster build & cluster=$$!; \
	  cmake --build --preset release -j $(JOBS) --target real_test real_dra_server_test; built=$$?; wait $$cluster && exit $$built
	@ctest --preset real -j 4 --repeat until-pass:2

# The DRA plugin with an API server of Kubernetes 1.34 too, which takes some minutes more to build, once: make real skips
# that test until then.
real-1.34: real
	@scripts/real-cluster build-1.34
	@ctest --preset real -R 1.34

demo: build tools
	@build/lockstep demo --kubectl tests/tools/bin/kubectl-1.36

# Lockstep's image without Docker or a registry: an OCI archive, for ctr images import and the like.
image: build
	@rm -rf build/image && scripts/image-root build/lockstep build/image $(GIT)
	@scripts/image-archive build/image build/lockstep-image.tar

bench: packages page
	@cmake --preset release > /dev/null
	@cmake --build --preset release -j $(JOBS)
	@bench/run build

# NVIDIA's upgrade library and Lockstep, one after the other, on a genuine API server with the same simulated nodes.
# IDLE: seconds of rest that are watched at the end. ONLY=lockstep, ONLY=upstream: one of them. UPGRADE=no: only the rest.
NODES ?= 100
PARALLEL ?= 10
IDLE ?= 300
bench-upstream: packages
	@scripts/real-cluster build
	@cmake --preset release > build-configure.log 2>&1 || { cat build-configure.log; exit 1; }; rm -f build-configure.log
	@cmake --build --preset release -j $(JOBS) --target lockstep compare_upstream
	@upstream=$$(scripts/upstream-controller) && LOCKSTEP_PROGRAM=build/lockstep UPSTREAM_CONTROLLER=$$upstream \
	  LOCKSTEP_REAL_CLUSTER=$$(scripts/real-cluster path) NODES=$(NODES) PARALLEL=$(PARALLEL) IDLE=$(IDLE) \
	  ONLY=$(ONLY) UPGRADE=$(UPGRADE) build/bench/upstream/compare_upstream

fuzz: packages
	@cmake --preset fuzz > /dev/null
	@cmake --build --preset fuzz -j $(JOBS) --target fuzzers
	@scripts/fuzz build-fuzz $(FUZZ_SECONDS)

# Random runs on all processors until SEEDS are done or one fails: then with what reproduces it.
SEEDS ?= 1000
SEED ?= 1
soak: build
	@KIND=$(KIND) scripts/soak build/lockstep $(SEEDS) $(SEED)

# Bugs planted in a copy of the tree, one at a time: the simulation finds every one. Six minutes where the program has been
# compiled before, in whichever clone; else as long as a build more.
mutants: packages
	@scripts/mutants

lint: packages
	@scripts/lint

format: packages
	@git ls-files '*.h' '*.cc' | xargs clang-format-19 -i

# The same tests under the address and undefined-behaviour sanitizers.
debug: packages tools page definitions
	@cmake --preset debug > /dev/null
	@cmake --build --preset debug -j $(JOBS)
	@ctest --preset debug -j 2

# A second compiler reads everything, and what it makes of it runs as what the first made.
# CLANG_TARGETS="lockstep lockstep-dra-plugin determinism_test": without the unit tests, in half the time.
CLANG_TARGETS ?= all
clang: packages
	@cmake --preset clang-19 > /dev/null
	@cmake --build --preset clang-19 -j $(JOBS) --target $(CLANG_TARGETS)
	@ctest --preset clang-19 -L determinism

clean:
	rm -rf build build-*/
