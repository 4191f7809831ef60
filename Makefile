# One command each. `make` with no argument says what there is.

VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed
PYTHON ?= $(shell for p in python3.11 python3.12 python3.13 python3; do \
	"$$p" -c 'import ensurepip, sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 && echo "$$p" && break; done)
WORKERS ?= 2
ARGS   ?=

# Folders that ruff and the guards read; those not there yet are left out.
CODE := $(wildcard src tests benchmarks examples docs)

.DEFAULT_GOAL := help
.PHONY: help demo test check static format format-check lint types vectors docs-check selfaware slow bench lock build clean

help: ## list the targets (this text)
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(STAMP) ## put the demo board to the embedded local model, show the scorecard, verify the run
	cd examples/this-machine && \
	../../$(BIN)/calibrant run boards/this-machine.yaml --subject local && \
	../../$(BIN)/calibrant verify

test: $(STAMP) ## run the tests (ARGS='-k canonical' for some; WORKERS=4 for more processes)
	$(BIN)/pytest -n $(WORKERS) --dist loadfile $(ARGS)

check: static test ## what CI runs: format, lint, types, vectors, then the tests

static: format-check lint types vectors ## everything of `check` but the tests

format: $(STAMP) ## rewrite the code in the one format, imports sorted
	$(BIN)/ruff check --select I --fix-only --quiet $(CODE)
	$(BIN)/ruff format $(CODE)

format-check: $(STAMP) ## say which files are not in that format
	$(BIN)/ruff format --check $(CODE)

lint: $(STAMP) ## lint
	$(BIN)/ruff check $(CODE)

types: $(STAMP) ## strict type check
	$(BIN)/mypy

vectors: $(STAMP) ## rebuild the known-answer vectors in memory and compare them with those kept
	$(BIN)/python tests/vectors/rebuild.py --check

docs-check: $(STAMP) ## check that the documents say what is there: links, commands
	$(BIN)/pytest -q $(wildcard tests/docs) tests/test_docs.py $(ARGS)

selfaware: $(STAMP) ## SelfAware at full size with the local model (CALIBRANT_DATA=FOLDER; ten minutes and more)
	cd examples/known-unknowns && ../../$(BIN)/python make_board.py --full --out full && \
	../../$(BIN)/calibrant run full/known-unknowns.jsonl --subject local && ../../$(BIN)/calibrant show latest --confidence

slow: $(STAMP) ## the simulations and soaks that `test` leaves out
	HYPOTHESIS_PROFILE=slow $(BIN)/pytest -n $(WORKERS) -m slow --timeout 3000 $(ARGS)

bench: $(STAMP) ## the benchmarks, as ratios measured in one run
	@set -e; for part in benchmarks/[!_]*.py; do echo "== $$part"; $(BIN)/python "$$part" $(ARGS); done

lock: $(STAMP) ## pin every dependency anew from pyproject.toml (ARGS=--upgrade for newer releases)
	$(BIN)/uv pip compile --quiet pyproject.toml --all-extras --group dev --universal --python-version 3.11 \
		--generate-hashes --annotation-style line --custom-compile-command 'make lock' \
		--output-file requirements.lock $(ARGS)
	@! grep -nE '^ *(--?(index|extra-index|find-links|i |f )|[^#]*://)' requirements.lock

build: $(STAMP) ## build the wheel and the source archive into dist/
	$(BIN)/python -m hatchling build

clean: ## remove caches and built files (the environment in .venv stays)
	rm -rf build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .benchmarks
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +

# The environment: pip brings the pinned uv, uv the rest of the lock (a fifth of the time that pip takes). uv knows
# nothing of pip's settings (mirrors, certificates), so where it fails pip does the same.
$(STAMP): requirements.lock pyproject.toml src/calibrant/_version.py
	@test -n "$(PYTHON)" || { echo "Python 3.11 or newer with its venv module is needed (Debian: python3-venv)." >&2; exit 1; }
	@$(BIN)/python -m pip --version >/dev/null 2>&1 || { echo "making $(VENV) with $(PYTHON)"; $(PYTHON) -m venv --clear $(VENV); }
	@sed -n '/^uv==/,/[^\\]$$/p' requirements.lock > $(VENV)/uv.lock
	@echo "installing requirements.lock"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r $(VENV)/uv.lock
	@$(BIN)/uv pip install --quiet --python $(BIN)/python --require-hashes -r requirements.lock \
		|| { echo "uv could not; installing with pip, which takes longer"; \
		$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock; }
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@
