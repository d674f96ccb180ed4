# All targets work on a machine with Python 3.11+, Rust and make; other packages are installed into .venv.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip
export PIP_QUIET := 1
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# maturin finds the environment by VIRTUAL_ENV; cargo builds the extension for the Python in PYO3_PYTHON.
export VIRTUAL_ENV := $(CURDIR)/$(VENV)
export PYO3_PYTHON := $(CURDIR)/$(BIN)/python
# Tests start hundreds of Python processes; bytecode that one process compiles is read by the others.
unexport PYTHONDONTWRITEBYTECODE

RUST := Cargo.toml $(shell find crates \( -name '*.rs' -o -name Cargo.toml \) -not -path '*/target/*')
# Installs the packages of a group from locks/python.txt; pip refuses packages with another hash or not listed there.
# Python compiles modules when they are first imported, which are a third of all.
INSTALL = $(BIN)/python scripts/locks.py pip $(1) > $(VENV)/$(2).txt && \
	$(PIP) install --require-hashes --no-compile -r $(VENV)/$(2).txt

# Targets run one after the other: each keeps all cores busy, and live tests depend on timing.
.NOTPARALLEL:
.PHONY: help build figure check test test-rust test-python test-without-live test-long lint lint-rust lint-python wheel sdist docs bench lock locked audit clean
.DEFAULT_GOAL := help

help:  ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## /  make \1\t/p' Makefile | expand -t 20

build: $(VENV)/.built  ## build and install into .venv; .venv/bin/crossfade is the command

# Without a build, a quick one gives the figure sooner; a message explains it.
figure: $(or $(wildcard $(VENV)/.built),$(VENV)/.quick)  ## from nothing to out/fig2.png and out/fig2.csv (throughput over a fading link)
	@mkdir -p out
	@$(BIN)/crossfade paper tcp-markov fig2 --csv out/fig2.csv --plot out/fig2.png --quiet

check: lint locked $(VENV)/.extension  ## frequent checks: formatting, lints, types, unit tests of Rust, quick tests of Python
	cargo test --locked --quiet --workspace --lib
	$(BIN)/python -m pytest -n auto --dist loadfile -q -m quick

# What compiles the workspace once from nothing does it without incremental compilation, which would cost a tenth more and
# optimise less; `make check`, which one runs after each edit, compiles only what an edit changes.
test test-rust test-python test-without-live test-long: export CARGO_INCREMENTAL := 0
check: export CARGO_INCREMENTAL := 1

test: test-rust test-python  ## all tests; those whose programs are not installed are skipped and listed at the end
	@$(BIN)/python scripts/count_skips.py target/skipped.txt

# The whole workspace, like the build of the extension: a single package has other features, so everything would be
# compiled again. `--tests` leaves out targets with `test = false`: examples, which are only linted, and the extension,
# which `--lib` would compile once more.
test-rust: $(VENV)/.run locked
	$(BIN)/python scripts/count_skips.py target/skipped.txt cargo test --locked --workspace --tests
	cargo test --locked --quiet --workspace --doc

test-python: $(VENV)/.extension $(VENV)/.test
	$(BIN)/python -m pytest -n auto --dist loadfile

# Salts of the tests' random streams; `make test` uses salt 0. Tests of one seed's exact numbers skip other salts.
SALTS ?= 1 2 3 4 5

# Crates and tests without live emulation, as on systems other than Linux.
WITHOUT_LIVE := cargo test --locked --quiet --workspace --exclude crossfade-live --no-default-features --tests

test-without-live: locked $(VENV)/.run  ## the Rust tests without live emulation, as on systems other than Linux
	$(WITHOUT_LIVE)

test-long: locked $(VENV)/.extension $(VENV)/.test  ## Rust tests under five salts of their random streams, long forms, tests without live emulation: about an hour
	@for salt in $(SALTS); do echo "CROSSFADE_TEST_SALT=$$salt"; \
		CROSSFADE_TEST_SALT=$$salt cargo test --locked --quiet --workspace --tests || exit 1; done
	CROSSFADE_LONG=1 PROPTEST_CASES=512 cargo test --locked --quiet --workspace --tests
	$(WITHOUT_LIVE)
	CROSSFADE_LONG=1 $(BIN)/python -m pytest -n auto --dist loadfile -q -m long

lint: lint-rust lint-python  ## formatting, clippy, ruff, words, mypy: all clean

lint-rust: locked
	cargo fmt --check
	cargo clippy --locked --workspace --all-targets -- -D warnings

lint-python: $(VENV)/.run $(VENV)/.test $(VENV)/.lint
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/python scripts/check_words.py
	$(BIN)/mypy

wheel: $(VENV)/.run locked  ## dist/*.whl: a wheel, which installs without a compiler
	PATH="$(CURDIR)/$(BIN):$$PATH" $(PIP) wheel --no-deps --no-build-isolation --config-settings build-args="--compatibility pypi" -w dist .

sdist: $(VENV)/.run locked  ## dist/*.tar.gz: all committed files and Cargo.lock, enough for builds, tests and docs
	@mkdir -p dist
	@PATH="$(CURDIR)/$(BIN):$$PATH" PYTHONPATH=scripts $(BIN)/python -c 'import build_backend; print("dist/" + build_backend.build_sdist("dist"))'

docs: build $(VENV)/.docs  ## docs/_build/html, with figures computed by this build
	$(BIN)/python -m sphinx -W -b html docs docs/_build/html

bench: locked  ## speed of the engine, the links, the physical layer, meshes, the analysis and live emulation
	cargo bench --locked -p crossfade-sim -p crossfade-link -p crossfade-phy -p crossfade-mac -p crossfade-analysis -p crossfade-live

lock: $(VENV)/.python  ## renew locks/: the newest packages that Cargo.toml, pyproject.toml and constraints.txt allow
	$(PIP) install uv
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python scripts/locks.py renew

# OSV is a folder of vulnerabilities of Python packages in the OSV format, for use without a network.
audit: locked  ## licences, duplicates, sources and known vulnerabilities of dependencies (cargo deny, pip-audit; OSV=DIR)
	@$(BIN)/python scripts/audit.py $(OSV)

# Cargo.lock is always written from locks/rust.txt; `--locked` then refuses manifests that need other packages.
locked: | $(VENV)/.python
	@$(BIN)/python scripts/locks.py cargo

clean:  ## remove all build products and generated files
	rm -rf $(VENV) target out dist docs/_build docs/gallery .pytest_cache .mypy_cache .ruff_cache .hypothesis
	rm -f python/crossfade/*.so

$(VENV)/.python:
	@command -v $(PYTHON) >/dev/null || { echo "error: no $(PYTHON) on the PATH; Python 3.11 or newer is needed" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "error: $$($(PYTHON) --version) is too old; Python 3.11 or newer is needed (make PYTHON=...)" >&2; exit 1; }
	@command -v cargo >/dev/null || { echo "error: no cargo on the PATH; Rust is needed" >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV) || { echo "error: $(PYTHON) cannot make a virtual environment (is venv installed?)" >&2; exit 1; }
	@touch $@

$(VENV)/.run: pyproject.toml constraints.txt locks/python.txt | $(VENV)/.python
	@echo "installing the packages that crossfade needs into $(VENV)"
	@$(call INSTALL,build run,run)
	@touch $@

$(VENV)/.test $(VENV)/.lint $(VENV)/.docs: $(VENV)/.%: pyproject.toml constraints.txt locks/python.txt | $(VENV)/.python
	@echo "installing the packages for $* into $(VENV)"
	@$(call INSTALL,$*,$*)
	@touch $@

# The Python part is installed in place, so only a change of the Rust part needs a new build. `make build` compiles the
# extension with full optimisation. Tests use this extension if it is up to date, or else one of the profile in which
# they are compiled. Only one extension is installed at a time; one of the three files .built, .quick and .extension
# tells which.
$(VENV)/.built: $(RUST) $(VENV)/.run | locked
	@rm -f $(VENV)/.quick
	$(BIN)/maturin develop --release --locked
	@touch $@ $(VENV)/.extension

$(VENV)/.quick: $(RUST) $(VENV)/.run | locked
	@echo "a quick build for the first figure: one TCP flow as fast as by make build, cells, meshes and antennas up to 1.5 times slower, captures and fits up to 4 times"
	@rm -f $(VENV)/.built $(VENV)/.extension
	$(BIN)/maturin develop --profile quick --locked
	@touch $@

$(VENV)/.extension: $(RUST) $(VENV)/.run | locked
	@rm -f $(VENV)/.built $(VENV)/.quick
	$(BIN)/maturin develop --profile dev --features extension-module,testing --locked
	@touch $@
