# Everything is set up in .venv of this checkout; nothing global is touched.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: help demo test lint bench clean

help:
	@echo "make demo   publish, audit and verify the bundled sample into demo/"
	@echo "make test   run all tests (FOREKNOW_NIGHTLY=1 adds the exhaustive ones)"
	@echo "make lint   ruff and mypy"
	@echo "make bench  measured claims, printed as ratios"

$(READY): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade "pip>=25.1"
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable . --group dev
	@touch $(READY)

demo: $(READY)
	rm -rf demo
	$(BIN)/foreknow demo demo

test: $(READY)
	$(BIN)/python -m pytest -n auto

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(READY)
	$(BIN)/python -m benchmarks.audit_five_million
	$(BIN)/python -m benchmarks.skyline_check
	$(BIN)/python -m benchmarks.many_values
	$(BIN)/python -m benchmarks.mondrian_scale
	$(BIN)/python -m benchmarks.adult_local_recoding
	$(BIN)/python -m benchmarks.startup
	$(BIN)/python -m benchmarks.statements
	$(BIN)/python -m benchmarks.set_valued
	$(BIN)/python -m benchmarks.implications
	$(BIN)/python -m benchmarks.fulldomain
	$(BIN)/python -m benchmarks.streamliner
	$(BIN)/python -m benchmarks.anatomy
	$(BIN)/python -m benchmarks.query_error
	$(BIN)/python -m benchmarks.posteriors
	$(BIN)/python -m benchmarks.art
	$(BIN)/python -m benchmarks.jump
	$(BIN)/python -m benchmarks.attack

clean:
	rm -rf $(VENV) demo dist build .pytest_cache .mypy_cache .ruff_cache .hypothesis
