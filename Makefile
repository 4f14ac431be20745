# Every target sets up what it needs in .venv; Python 3.11 or newer is all that must be there.
#   make demo         learn two-player Tressette from nothing and play it out (about five minutes)
#   make test         lint, then all tests; what the CI runs
#   make check-long   the tests that take minutes or more
#   make coverage     the tests again, and which lines of Python they leave out (half as long again)
#   make bench        speed, next to other libraries
#   make lint, make clean

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.PHONY: help demo test lint test-nojit test-oldest test-wheel test-main kernels coverage check-long bench clean

export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PIP_NO_INPUT := 1
# pip would compile all of torch and more. Python compiles what is imported, and keeps it.
PIP_INSTALL := -m pip install -q --no-compile
export PYTHONDONTWRITEBYTECODE :=

BIN := .venv/bin
PYTEST_WORKERS := -n 2 --dist loadfile --no-loadscope-reorder
# Two workers on two cores: without this each would start a thread per core for torch and NumPy.
ONE_THREAD := OMP_NUM_THREADS=1
# $(call find_marked,marker): sets files to the test files that use it. Only they are collected: others may import more than is there.
find_marked = files=$$(grep -rlE 'mark\.$(1)\b' tests --include='*.py') || { echo "no test is marked $(1)" >&2; exit 1; }

define find_python
for p in $(or $(PYTHON),python3.11 python3.12 python3.13 python3.14 python3 python); do \
    if "$$p" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then echo "$$p"; exit; fi; done; \
echo "No Python 3.11 or newer (with venv) found. Install one, or name it: make PYTHON=/path/to/python" >&2; exit 1
endef
# $(call new_venv,folder): makes it, or keeps one that works
new_venv = $(1)/bin/python -m pip --version >/dev/null 2>&1 || { p=$$($(find_python)); "$$p" -m venv --clear $(1); }
say = @echo "== $(1)"

help:
	@sed -n '1,/^$$/s/^# \?//p' Makefile

.venv/.stamp: pyproject.toml constraints.txt
	$(call say,setting up .venv: some minutes the first time)
	@$(call new_venv,.venv)
	@$(BIN)/python $(PIP_INSTALL) -e '.[train,dev]' -c constraints.txt
	@touch $@

.venv/.stamp-bench: .venv/.stamp
	$(call say,adding the libraries to compare with)
	@$(BIN)/python $(PIP_INSTALL) -e '.[bench]' -c constraints.txt
	@touch $@

.venv-oldest/.stamp: pyproject.toml constraints-oldest.txt
	$(call say,setting up .venv-oldest)
	@$(call new_venv,.venv-oldest)
	@.venv-oldest/bin/python $(PIP_INSTALL) -e . pytest hypothesis -c constraints-oldest.txt
	@touch $@

demo: .venv/.stamp
	@$(BIN)/settebello-train demo

bench: .venv/.stamp-bench
	@$(BIN)/settebello bench

lint: .venv/.stamp
	$(call say,lint: ruff)
	@$(BIN)/ruff check
	@$(BIN)/ruff format --check
	$(call say,lint: mypy)
	@$(BIN)/mypy
	$(call say,lint: import-linter)
	@$(BIN)/lint-imports --no-logo

test-nojit: .venv/.stamp
	$(call say,rule tests without compilation)
	@$(call find_marked,nojit); \
	$(ONE_THREAD) NUMBA_DISABLE_JIT=1 $(BIN)/python -m pytest -q -m 'nojit and not long' $$files

# Numba keeps one index per source file for one Numba version: a cache of its own, or the two would evict each other.
test-oldest: .venv-oldest/.stamp
	$(call say,border tests with the oldest Gymnasium and PettingZoo)
	@$(call find_marked,border); \
	$(ONE_THREAD) NUMBA_CACHE_DIR=$(CURDIR)/.venv-oldest/numba .venv-oldest/bin/python -m pytest -q -m 'border and not long' $$files

test-wheel: .venv/.stamp
	$(call say,wheel in a clean venv)
	@tests/wheel_check.sh $(BIN)/python

test-main: .venv/.stamp
	$(call say,tests)
	@$(ONE_THREAD) $(BIN)/python -m pytest $(PYTEST_WORKERS)

# What compiles at import: each worker of the main run would compile it while it collects.
kernels: .venv/.stamp
	@SETTEBELLO_QUIET=1 $(BIN)/python -c 'import settebello.bazzica.solver, settebello.tressette.open_hands, settebello.tressette.solver'

# Two parts at a time, as each keeps one core busy. The main run needs both; it comes last: its closing line is the last line.
test:
	@$(MAKE) --no-print-directory -j2 -Oline .venv/.stamp .venv-oldest/.stamp test-oldest lint test-nojit test-wheel kernels
	@$(MAKE) --no-print-directory -j1 test-main

coverage: .venv/.stamp
	$(call say,tests with coverage)
	@$(ONE_THREAD) $(BIN)/python -m pytest $(PYTEST_WORKERS) --cov

# By test, not by file: a few long ones would wait in line behind each other.
check-long: .venv/.stamp
	$(call say,long tests)
	@$(ONE_THREAD) $(BIN)/python -m pytest -n 2 -m long

# Leaves runs/ alone: what was learned is yours.
clean:
	rm -rf .venv .venv-oldest dist build htmlcov .coverage* .hypothesis .*_cache
	find envs training tests -name __pycache__ -type d -prune -exec rm -rf {} +
