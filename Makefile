# Two commands matter: `make demo` shows the main job, `make test` proves everything.
# Each sets up .venv by itself from pinned versions; the second time that takes a second.

PYTHON ?= python3
VENV := .venv
RUN := $(VENV)/bin
STAMP := $(VENV)/.installed
WORKERS ?= 2
FILES ?= 5000
SEED ?= 0
export OMP_NUM_THREADS ?= 1
export NO_MKDOCS_2_WARNING = 1

.PHONY: crowd demo test check lint docs bench reproduction images clean help

help:
	@echo "make demo   handwritten digits with several labels, and what they are; writes demo-output/"
	@echo "make test   style, types and all tests"
	@echo "make docs   the site, in site/; a warning is an error"
	@echo "make bench  speed, side by side with the style of public code"
	@echo "make reproduction  docs/reproduction.md and .html again, from results/paper"
	@echo "make images  docs/images-results.md again, from results/images"
	@echo "make fuzz   FILES=5000 damaged files of each kind through the commands"
	@echo "make audit  known holes and licences of the pinned packages; needs the network"
	@echo "make crowd  docs/crowd.md and its figures again, from results/crowd"
	@echo "make clean  remove .venv and caches"

demo: $(STAMP)
	@OMP_NUM_THREADS=1 $(RUN)/amongst demo --out demo-output

test: $(STAMP)
	@bash scripts/chromium.sh || true
	@sh scripts/axe.sh || true
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

docs: $(STAMP)
	@$(RUN)/python -m mkdocs build --strict
	@echo "open site/index.html"

bench: $(STAMP)
	@OMP_NUM_THREADS=2 $(RUN)/python benchmarks/single.py --quick
	@OMP_NUM_THREADS=2 $(RUN)/python benchmarks/population.py --quick
	@OMP_NUM_THREADS=2 $(RUN)/python benchmarks/convnet.py --quick

fuzz: $(STAMP)
	@nice -n 10 $(RUN)/python scripts/fuzz.py --files $(FILES) --seed $(SEED)

audit: $(STAMP)
	@$(RUN)/python scripts/audit.py

reproduction: $(STAMP)
	@$(RUN)/amongst evidence pages results/paper --docs docs
	@$(RUN)/python scripts/readme_numbers.py

images: $(STAMP)
	@$(RUN)/amongst evidence pages results/images --docs docs
	@$(RUN)/python scripts/readme_numbers.py

crowd: $(STAMP)
	@$(RUN)/python studies/crowd/page.py

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
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis demo-output site
