# heapsmith: every target works in a fresh clone, with nothing set but PATH and HOME.

PYTHON ?= python3
BIN := .venv/bin
DEMO := out/demo
GENERATED := default lean generated/perl/design.toml

.DEFAULT_GOAL := help
.PHONY: help venv dev dev-all demo quick test thorough bigcheck mutants search default conformance compilers imports public-traces everyday soak ageing floor latency hardening attacks peers bench bench-large experiments log verified hot-paths check site man generated lint format dist wheels chroot clean distclean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

venv: .venv/.heapsmith ## a virtual environment with heapsmith in it

dev: .venv/.heapsmith-dev ## the same, with what a change of the source needs; tests of other packages are skipped

dev-all: .venv/.heapsmith-dev-all ## the same, with browsers, clusters, sphinx and all else that a test or the site uses

.venv/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || \
	  { echo "heapsmith: $(PYTHON) is missing or older than 3.11 (Debian: apt install python3; or make PYTHON=...)" >&2; exit 3; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || \
	  { echo "heapsmith: $(PYTHON) cannot make virtual environments (Debian: apt install python3-venv)" >&2; exit 3; }
	$(PYTHON) -m venv .venv

.venv/.heapsmith: pyproject.toml | .venv/bin/python
	$(BIN)/python -m pip install --quiet -e .
	@touch $@

.venv/.heapsmith-dev: pyproject.toml | .venv/bin/python
	$(BIN)/python -m pip install --quiet -e '.[dev]'
	@touch $@ .venv/.heapsmith

.venv/.heapsmith-dev-all: pyproject.toml | .venv/bin/python
	$(BIN)/python -m pip install --quiet -e '.[dev-all]'
	@touch $@ .venv/.heapsmith-dev .venv/.heapsmith

demo: venv ## forge an allocator for a perl program, say whether it pays, and what to do next
	$(BIN)/python -m heapsmith forge --budget 15s --time 20s -o $(DEMO) -- perl bench/programs/demo_job.pl
	@printf '\nThe command heapsmith is in the virtual environment: . $(BIN)/activate\n'

quick: dev ## after each change: units, tables, layout and the plain model, in 20 seconds; compiles nothing
	$(BIN)/python -m pytest -q -m quick -n 2 --dist worksteal

test: dev-all ## before a commit that others get: the test suite, in about 8 minutes
	$(BIN)/python -m pytest -n 2 --dist worksteal

thorough: dev-all ## after make test: the tests that take seconds and repeat what shorter ones say; CI runs them too
	$(BIN)/python -m pytest -n 2 --dist worksteal -m 'thorough and not big'

bigcheck: dev-all ## after a change of the heap's C or of the machine: the test suite with its long forms (some hours); goes on where it was interrupted
	$(BIN)/python -m heapsmith.bench.gates.bigcheck
	$(BIN)/python -m heapsmith.bench.soak.ageing
	$(BIN)/python -m heapsmith.bench.gates.mutants

mutants: dev-all ## would a test notice a wrong line? 400 lines changed, each with a focused run (a night); goes on where it was interrupted
	$(BIN)/python -m heapsmith.bench.gates.mutants $(MUTANTS)

search: dev ## tune against random designs: make search TRACES="a.hst b.hst" DESIGNS=2000
	$(BIN)/python -m heapsmith.bench.studies.search --designs $(or $(DESIGNS),2000) $(TRACES)

default: dev ## search for a default over real programs: make default FOUND=candidate.toml (records them into out/default)
	$(BIN)/python -m heapsmith.bench.studies.default out/default -o $(or $(FOUND),out/default.toml) --simulations $(or $(SIMULATIONS),300)

conformance: dev ## library against model: every built-in design on real programs
	$(BIN)/python -m heapsmith.bench.gates.conformance

compilers: dev ## all C with every gcc and clang here, warnings as errors, its libraries against the model
	$(BIN)/python -m heapsmith.bench.gates.compilers $(DESIGNS)

imports: dev-all ## speed and memory of imports of files of 100 MB and 1 GB: make imports FORMATS="csv heaptrack"
	$(BIN)/python -m heapsmith.bench.gates.imports $(FORMATS)

public-traces: dev-all ## traces of other tools from import to measurement: make public-traces TRACES=FOLDER
	$(BIN)/python -m heapsmith.bench.gates.public_traces $(TRACES)

everyday: dev ## programs of a Linux machine and their jobs, recorded and under two designs: make everyday PROGRAMS="curl git"
	@mkdir -p out
	$(BIN)/python -m heapsmith.bench.gates.everyday --json out/everyday.json $(PROGRAMS)

soak: dev ## half an hour of mixed load: memory over time must not grow without bound
	$(BIN)/python -m heapsmith.bench.soak.soak $(SOAK)

ageing: dev ## a billion events of a server on heaps that age, library beside model; goes on where it was interrupted
	$(BIN)/python -m heapsmith.bench.soak.ageing $(AGEING)

floor: dev ## what a malloc of no cost and no waste would take in the programs of the benchmark
	$(BIN)/python -m heapsmith.bench.studies.floor

latency: venv ## the time of single calls: p99 and p99.9 of malloc and free, of every malloc: make latency LIBS="--lib default --lib steady"
	$(BIN)/python -m heapsmith.bench run --only 'calls*' --latency $(or $(LIBS),--lib peers --lib default --lib steady)

hardening: dev ## what each level of hardening costs: instructions per pair, time and memory
	$(BIN)/python -m heapsmith.bench.studies.hardening
	$(BIN)/python -m heapsmith.bench.studies.single_checks --keep

attacks: venv ## how many small attacks each malloc stops: make attacks LIBS="--lib glibc --lib hardened"
	$(BIN)/python -m heapsmith.bench.attacks.attacks $(LIBS)

peers: venv ## build the mallocs to compare with at their current releases (needs cargo, cmake, g++, apt)
	$(BIN)/python -m heapsmith.bench.peers.builds $(PEERS)

bench: venv ## every malloc on every row, see docs/lab/bench.md (BENCH=--quick: in two minutes)
	@mkdir -p out
	$(BIN)/python -m heapsmith.bench run -o out/bench.json $(BENCH)

bench-large: venv ## micro, threads and servers with single calls, for a machine of many cores: out/large.md and .json
	@mkdir -p out
	$(BIN)/python -m heapsmith.bench run --suite micro --suite threads --suite servers --latency --lib peers --lib default --lib owner-batch -o out/large.md --json $(BENCH) > out/large.json

experiments: venv ## measure the log's experiments and make docs/lab/experiments.md of them: hours (EXPERIMENTS="E9 E13": those alone)
	$(BIN)/python -m heapsmith.bench experiments run $(EXPERIMENTS) --machine epyc --rounds 7 --keep
	$(BIN)/python -m heapsmith.bench.experiments.log --page

log: venv ## measure the steps of the log and make docs/lab/log.md of them (STEPS="ring shared": those alone)
	$(BIN)/python -m heapsmith.bench.experiments.log $(STEPS)

verified: dev ## library against model for the designs of docs/lab/mechanisms.md, at which commit (DESIGNS="lean ring": those alone)
	$(BIN)/python -m heapsmith.bench.experiments.verified $(DESIGNS)
	$(BIN)/python -m heapsmith.bench.experiments.mechanisms

hot-paths: venv ## count the hot paths' instructions anew, here and on the targets that are installed: bench/gates/hot_paths*.toml
	$(BIN)/python -m heapsmith.bench.gates.hot_paths
	$(BIN)/python -m heapsmith.bench.gates.hot_paths_elsewhere

check: lint ## before each commit: lint, types, import law, the picture of the architecture, and generated/ byte for byte
	$(BIN)/python -m heapsmith.codegen.committed --check $(GENERATED)
	$(BIN)/python -m heapsmith.bench.experiments.mechanisms --check
	$(BIN)/python -m heapsmith.bench.gates.architecture --check
	$(BIN)/python -m heapsmith.bench.gates.reference --check
	$(BIN)/python -m heapsmith.bench.gates.drawings --check
	$(BIN)/python -m heapsmith.bench.studies.by_size --check
	$(BIN)/python -m pytest -q tests/test_layout.py

site: dev-all ## the pages and the Python reference as a web site in out/site (NOTEBOOK=force: run the notebook for it)
	$(BIN)/python -m sphinx -q -b html -W --keep-going docs out/site

man: venv ## write the manual pages to out/man, from the help of the commands
	$(BIN)/python -m heapsmith.commands.man out/man

generated: venv ## write the committed designs, their C, the JSON Schemas, the guide for assistants, the pictures and the reference pages anew
	$(BIN)/python -m heapsmith.codegen.committed $(GENERATED)
	$(BIN)/python -m heapsmith.commands.schemas
	$(BIN)/python -m heapsmith.commands.guide
	$(BIN)/python -m heapsmith.bench.gates.architecture
	$(BIN)/python -m heapsmith.bench.gates.reference
	$(BIN)/python -m heapsmith.bench.gates.drawings

lint: dev ## ruff and mypy --strict
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: dev ## let ruff rewrite the sources
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

dist: dev man ## build sdist and wheel and try them under every Python here: make dist PYTHONS="python3.11 /opt/python3.13/bin/python3"
	$(BIN)/python -m pip install --quiet -e '.[dist]'
	$(BIN)/python -m heapsmith.bench.gates.packages $(PYTHONS)

wheels: dev man ## wheels with the recorder, the replayer and three libraries compiled, for systems without a compiler
	$(BIN)/python -m pip install --quiet -e '.[dist]'
	$(BIN)/python -m heapsmith.bench.gates.wheels

chroot: wheels ## try the wheel in a minimal Debian without a compiler (root, debootstrap): make chroot CHROOT=--keep
	$(BIN)/python -m heapsmith.bench.gates.chroot $(CHROOT)

clean: ## remove what was built, not the virtual environment
	rm -rf out build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis src/*.egg-info
	find . -path ./.venv -prune -o -name __pycache__ -type d -exec rm -rf {} +

distclean: clean ## remove the virtual environment too
	rm -rf .venv
