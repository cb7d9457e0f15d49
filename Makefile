# Two commands are all that a fresh Debian 12 machine needs: make demo, make test.
# Each installs what it needs on the way (scripts/packages, web/package.json, tests/tools/package.json).

SHELL := /bin/bash
export JOBS ?= $(shell nproc)
FUZZ_SECONDS ?= 60
TOOLS := tests/tools/node_modules/.ready-with-helm
# Most tests wait for processes, so that more of them than processors run at a time.
TEST_JOBS ?= 4

.PHONY: all build program test check kubectls demo image reproducible bench fuzz docs pictures lint format debug asan tsan flaky fresh clang clean soak mutants tools definitions real-tools real-helmfile real-cluster real real-smoke real-1.34 bench-upstream

all: build

# The program that the demo runs, and nothing else.
program:
	@scripts/install-packages program
	@scripts/build-page
	@scripts/build release lockstep

build:
	@scripts/install-packages program plugin test
	@scripts/build-page
	@scripts/build release lockstep lockstep-dra-plugin

demo: program
	@build/lockstep demo $(if $(wildcard tests/tools/bin/kubectl-1.36),--kubectl tests/tools/bin/kubectl-1.36)

test: tools definitions
	@scripts/install-packages program plugin test
	@scripts/build-page --tests
	@scripts/build release
	@ctest --preset release -j $(TEST_JOBS)

# The older kubectls with the embedded API server.
kubectls: tools
	@scripts/install-packages program plugin test
	@scripts/build-page
	@scripts/build release kubectl_suite
	@ctest --preset older -j 2

# What CI runs: what fails fastest comes first.
check:
	@.ci/run

# kubectl of three versions, Helm and @kubernetes/client-node, for the tests.
tools: $(TOOLS)
$(TOOLS): tests/tools/package.json tests/tools/package-lock.json scripts/install-tools
	@scripts/install-packages program test
	@scripts/install-tools

# The resource definitions of Flux and Argo CD, against which bundles are tested; needs Go, and says so.
definitions:
	@scripts/real-tools definitions

# The same, and helmfile, which takes minutes to build, once: its test is skipped until then.
real-tools:
	@scripts/install-packages program test
	@scripts/real-tools

# The bundles for helmfile, by the real one.
real-helmfile: real-tools
	@scripts/install-packages program plugin test
	@scripts/build-page
	@scripts/build release lockstep bundles_test
	@ctest --preset release -R bundles-helmfile

# The same program on a real Kubernetes, which is built once (minutes) and kept outside of this folder. Needs Go,
# and says so. Both are built at the same time: the one fills the pauses of the other.
real-cluster: tools
	@scripts/install-packages program plugin test
	@scripts/build-page
	@scripts/real-cluster build & cluster=$$!; \
	  scripts/build release lockstep lockstep-dra-plugin real_test real_dra_server_test kubectl_suite; built=$$?; \
	  wait $$cluster && exit $$built

real: real-cluster
	@ctest --preset real -j $(TEST_JOBS)

# One upgrade of a fleet, start to end.
real-smoke: real-cluster
	@ctest --preset real -R '^real-(helpers|upgrade)$$'

# The DRA plugin with an API server of Kubernetes 1.34 too, which takes some minutes more to build, once: make real skips
# that test until then.
real-1.34: real-cluster
	@scripts/real-cluster build-1.34
	@ctest --preset real -R 1.34

# Lockstep's image without Docker or a registry: an OCI archive, for ctr images import and the like.
image: build
	@rm -rf build/image && scripts/image-root build/lockstep build/image $(GIT)
	@scripts/image-archive build/image build/lockstep-image.tar
	@cp build/image/usr/share/lockstep/sbom.cdx.json build/lockstep-image.cdx.json

# The same bytes from another folder, without what was compiled before: 10 minutes.
reproducible: image
	@scripts/reproducible build/lockstep-image.tar

bench:
	@scripts/install-packages program plugin test
	@scripts/build-page --tests
	@scripts/build release benchmarks
	@bench/run build

# NVIDIA's upgrade library and Lockstep, one after the other, on a real API server with the same simulated nodes.
# IDLE: seconds of rest that are watched at the end. ONLY=lockstep, ONLY=upstream: one of them. UPGRADE=no: only the rest.
NODES ?= 100
PARALLEL ?= 10
IDLE ?= 300
bench-upstream:
	@scripts/install-packages program plugin test
	@scripts/build-page
	@scripts/real-cluster build
	@scripts/build release lockstep compare_upstream
	@upstream=$$(scripts/upstream-controller) && LOCKSTEP_PROGRAM=build/lockstep UPSTREAM_CONTROLLER=$$upstream \
	  LOCKSTEP_REAL_CLUSTER=$$(scripts/real-cluster path) NODES=$(NODES) PARALLEL=$(PARALLEL) IDLE=$(IDLE) \
	  ONLY=$(ONLY) UPGRADE=$(UPGRADE) build/bench/upstream/compare_upstream

fuzz:
	@scripts/install-packages program plugin lint
	@scripts/build fuzz fuzzers
	@scripts/fuzz build-fuzz $(FUZZ_SECONDS)

# Random runs on all processors until SEEDS are done or one fails: then with what reproduces it. KEEP_GOING=1 runs all.
SEEDS ?= 1000
SEED ?= 1
soak: program
	@KIND=$(KIND) KEEP_GOING=$(KEEP_GOING) scripts/soak build/lockstep $(SEEDS) $(SEED)

# Every test RUNS times beside a load of LOAD busy processes; what fails once is flaky. ONLY=REGEX: only these tests.
RUNS ?= 10
LOAD ?= 8
flaky: tools definitions
	@scripts/install-packages program plugin test
	@scripts/build-page --tests
	@scripts/build release
	@RUNS=$(RUNS) LOAD=$(LOAD) ONLY='$(ONLY)' scripts/flaky

# A bare Debian 12 in a temporary folder, with a clone of this one and nothing else: make demo and make test there.
fresh:
	@scripts/fresh

# Bugs planted in a copy of the tree, one at a time: the simulation finds every one. Six minutes where the program has been
# compiled before, in whichever clone; else as long as a build more.
mutants:
	@scripts/install-packages program plugin test
	@scripts/mutants

# The pages that are made from the program: docs/CLI.md from --help, docs/API.md from the resource definition.
docs:
	@scripts/install-packages program plugin test
	@scripts/build-page
	@scripts/build release lockstep documentation_test
	@build/lockstep man --markdown > docs/CLI.md
	@LOCKSTEP_WRITE_DOCS=1 build/tests/docs/documentation_test --gtest_filter='ApiReference.*' --gtest_brief=1

# docs/status.svg, from the program; needs the kubectl of make tools.
pictures: program tools
	@scripts/pictures build/lockstep tests/tools/bin/kubectl-1.36

lint:
	@scripts/install-packages program plugin test lint
	@scripts/build-page
	@scripts/lint

format:
	@scripts/install-packages lint
	@git ls-files '*.h' '*.cc' | xargs clang-format-19 -i

# All tests under the address and undefined-behaviour sanitizers; asan: the unit tests and the scenarios, in a third of the
# time.
debug: tools definitions
	@scripts/install-packages program plugin test
	@scripts/build-page --tests
	@scripts/build debug
	@ctest --preset debug -j $(TEST_JOBS)

asan:
	@scripts/install-packages program plugin test
	@scripts/build-page
	@scripts/build debug unit_tests scenario_test
	@ctest --preset debug -j $(JOBS) -L '^(unit|scenarios)$$'

# The parts with threads, under the thread sanitizer.
tsan:
	@scripts/install-packages program plugin test
	@scripts/build-page
	@scripts/build tsan threads_tests
	@ctest --preset tsan -j $(JOBS) -L '^threads$$'

# A second compiler reads everything, and what it makes of it runs as what the first made.
# CLANG_TARGETS="lockstep lockstep-dra-plugin determinism_test": without the unit tests, in half the time.
CLANG_TARGETS ?= all
clang:
	@scripts/install-packages program plugin test
	@scripts/build-page
	@scripts/build clang-19 $(CLANG_TARGETS)
	@ctest --preset clang-19 -L determinism

clean:
	rm -rf build build-*/
