# Two commands matter: `make demo` shows the main job, `make test` proves everything.
# Each sets up .venv by itself from pinned versions; the second time that takes a second.

PYTHON ?= python3
VENV := .venv
RUN := $(VENV)/bin
STAMP := $(VENV)/.installed
WORKERS ?= 2
export OMP_NUM_THREADS ?= 1

.PHONY: demo test check lint bench reproduction clean help

help:
	@echo "make demo   compare five methods on handwritten digits; writes demo-output/"
	@echo "make test   style, types and all tests"
	@echo "make bench  speed, side by side with the style of public code"
	@echo "make reproduction  docs/reproduction.md and .html again, from results/paper"
	@echo "make clean  remove .venv and caches"

demo: $(STAMP)
	@OMP_NUM_THREADS=1 $(RUN)/amongst demo --out demo-output

test: $(STAMP)
	@bash scripts/chromium.sh || true
	@echo "==> style"
	@$(RUN)/ruff check src tests benchmarks studies scripts
	@$(RUN)/ruff format --check src tests benchmarks studies scripts
	@echo "==> types"
	@$(RUN)/mypy
	@echo "==> tests"
	@$(RUN)/python -m pytest -n $(WORKERS) --dist worksteal

check: test

lint: $(STAMP)
	@$(RUN)/ruff format src tests benchmarks studies scripts
	@$(RUN)/ruff check --fix src tests benchmarks studies scripts
	@$(RUN)/mypy

bench: $(STAMP)
	@OMP_NUM_THREADS=2 $(RUN)/python benchmarks/single.py --quick
	@OMP_NUM_THREADS=2 $(RUN)/python benchmarks/population.py --quick
	@OMP_NUM_THREADS=2 $(RUN)/python benchmarks/convnet.py --quick

reproduction: $(STAMP)
	@$(RUN)/amongst evidence pages results/paper --docs docs
	@$(RUN)/python scripts/readme_numbers.py

$(STAMP): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "amongst needs Python 3.11 or newer; name one with: make $(MAKECMDGOALS) PYTHON=python3.12"; exit 1; }
	@echo "==> setting up $(VENV) (once; a few minutes)"
	@test -x $(RUN)/python || $(PYTHON) -m venv $(VENV)
	@$(RUN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt torch
	@echo "==> installing amongst and its tools"
	@$(RUN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $(STAMP)

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis demo-output
