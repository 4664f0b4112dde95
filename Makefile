# make quickstart   install into .venv and run the main job on bundled data
# make test         install with the test tools; format, lint, types, import rules, tests
# make test-all     the same with the slow tests
# make bench        compare with peers, side by side
#
# Which versions: those of constraints.txt, which the tests run with. For others:
#   make quickstart CONSTRAINTS=                                  the newest that pyproject.toml allows
#   make quickstart PIP_ARGS="--extra-index-url URL"              another package index too, e.g. PyTorch's index of CPU
#                                                                 or of CUDA wheels (torch from PyPI is, on Linux, a CUDA
#                                                                 build of several GB)
#   make quickstart PYTHON=python3.13                             another Python (3.11 or newer)
#   make test WORKERS=1                                           tests in one process (default: one a processor)
# After such a change: make clean-venv.

PYTHON      ?= python3
VENV        ?= .venv
CONSTRAINTS ?= constraints.txt
PIP_ARGS    ?=
PYTEST_ARGS ?=
WORKERS     ?= auto
BENCH_ARGS  ?=

BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check $(if $(CONSTRAINTS),-c $(CONSTRAINTS)) $(PIP_ARGS)

INSTALLED      := $(VENV)/.installed
INSTALLED_TEST := $(VENV)/.installed-test

.DEFAULT_GOAL := help
.PHONY: help quickstart test test-all lint format types imports unit triton bench clean-venv

help:
	@sed -n 's/^# \{0,1\}//p;/^$$/q' Makefile

quickstart: $(INSTALLED)
	$(BIN)/gpuclf train configs/linear/quickstart.yaml
	@echo
	@echo "The run folder named above holds the chosen model, predictions, metrics.json and the logs:"
	@echo "  $(BIN)/tensorboard --logdir runs"

# The first four are of one process each: two at a time.
test: $(INSTALLED_TEST)
	$(MAKE) --no-print-directory -j 2 lint types imports triton
	$(MAKE) --no-print-directory unit

test-all: lint types imports
	TRITON_INTERPRET=1 $(BIN)/python -m pytest -m triton $(PYTEST_ARGS)
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -m "not triton" --hypothesis-profile=explore $(PYTEST_ARGS)

lint: $(INSTALLED_TEST)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

format: $(INSTALLED_TEST)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

types: $(INSTALLED_TEST)
	$(BIN)/mypy

imports: $(INSTALLED_TEST)
	$(BIN)/lint-imports --no-logo

unit: $(INSTALLED_TEST)
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -m "not slow and not triton" $(PYTEST_ARGS)

# A process of its own: with TRITON_INTERPRET=1 every kernel of the process runs in Triton's interpreter.
triton: $(INSTALLED_TEST)
	TRITON_INTERPRET=1 $(BIN)/python -m pytest -m "triton and not slow" $(PYTEST_ARGS)

bench: $(INSTALLED_TEST)
	$(BIN)/python -m benchmarks.linear $(BENCH_ARGS)
	$(BIN)/python -m benchmarks.vectorise $(BENCH_ARGS)

clean-venv:
	rm -rf $(VENV)

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "gpuclf needs Python 3.11 or newer, and $(PYTHON) is $$($(PYTHON) --version 2>&1); call make with PYTHON=…"; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(INSTALLED): pyproject.toml $(CONSTRAINTS) | $(BIN)/python
	$(PIP) -e .
	@touch $@

$(INSTALLED_TEST): pyproject.toml $(CONSTRAINTS) | $(BIN)/python
	$(PIP) -e '.[test]'
	@touch $(INSTALLED) $@
