# Everything is set up in .venv of this checkout; nothing global is touched.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
LOWEST := .venv-lowest
DOCS := .venv-docs
SERVICES := .venv-services
# One pip fills all environments; what is imported is compiled then, and the rest never.
PIP := $(BIN)/python -m pip --quiet --disable-pip-version-check
# Compiled once: tests start Python a hundred times.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: help environments demo explore test docs lowest services judge lint bench clean

help:
	@echo "make demo   publish, audit and verify the bundled sample into demo/"
	@echo "make explore  open the bundled sample in a browser: columns, policy, release, publish"
	@echo "make test   run all tests (FOREKNOW_NIGHTLY=1 adds the exhaustive ones)"
	@echo "make docs   build the documentation into site/; a broken link fails"
	@echo "make lowest tests with the lowest versions that pyproject.toml allows, in $(LOWEST)/"
	@echo "make services  tests with Spark, Ibis, PostgreSQL and dbt, in $(SERVICES)/; wants Java and a server"
	@echo "make judge  build the judge alone, install it without foreknow, and verify with it"
	@echo "make lint   ruff and mypy"
	@echo "make bench  measured claims, printed as ratios"

$(READY): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(PIP) install --upgrade "pip>=25.3"
	$(PIP) install --no-compile --editable . --group dev
	@touch $(READY)

environments: $(READY) $(DOCS)/.ready $(LOWEST)/.ready $(SERVICES)/.ready

demo: $(READY)
	rm -rf demo demo.owner
	$(BIN)/foreknow demo demo

# A copy of the sample, since policies and releases are written beside it.
explore: $(READY)
	mkdir -p explored
	cd src/foreknow/sample && cp -n hospital.csv policy.toml marital.csv ../../../explored/ || true
	cd explored && ../$(BIN)/foreknow explore hospital.csv --policy policy.toml

test: $(READY)
	$(BIN)/python -m pytest -n auto --dist worksteal

$(DOCS)/.ready: pyproject.toml | $(READY)
	$(PYTHON) -m venv --without-pip $(DOCS)
	$(PIP) --python $(DOCS)/bin/python install --no-compile --group docs
	@touch $(DOCS)/.ready

# The pages are read from docs/, the API from the docstrings in src/; nothing is imported.
docs: $(DOCS)/.ready
	NO_MKDOCS_2_WARNING=1 $(DOCS)/bin/python -m mkdocs build --strict --quiet
	@echo "Open site/index.html. The search needs a server: python3 -m http.server -d site"

$(LOWEST)/.ready: pyproject.toml .ci/lowest.py | $(READY)
	$(PYTHON) -m venv --clear --without-pip $(LOWEST)
	$(LOWEST)/bin/python .ci/lowest.py > $(LOWEST)/lowest.txt
	$(PIP) --python $(LOWEST)/bin/python install --no-compile \
		--only-binary :all: --constraint $(LOWEST)/lowest.txt \
		--build-constraint $(LOWEST)/lowest.txt --editable . --group dev
	@touch $(LOWEST)/.ready

# What meets other libraries: Click and Rich, Starlette, frames and engines, templates, what is
# written, certificates. The rest is arithmetic, signals and the browser's own scripts.
lowest: $(LOWEST)/.ready
	$(LOWEST)/bin/foreknow --help > $(LOWEST)/help.txt
	$(LOWEST)/bin/python -m pytest -n auto --dist worksteal \
		tests/cli/test_cli_commands.py tests/cli/test_cli_codes.py tests/cli/test_cli_verify.py \
		tests/explore/test_policies.py tests/explore/test_security.py tests/explore/test_views.py \
		tests/frames tests/report/test_audit_page.py tests/report/test_pages.py \
		tests/publishing/test_engine.py tests/publishing/test_publishing.py \
		tests/judge/test_verifier.py \
		tests/methods/test_searches.py tests/methods/test_fulldomain.py

$(SERVICES)/.ready: pyproject.toml | $(READY)
	$(PYTHON) -m venv --without-pip $(SERVICES)
	$(PIP) --python $(SERVICES)/bin/python install --no-compile \
		--only-binary dbt-core-experimental-parser --editable ".[spark,sql]" \
		--group dev --group services
	@touch $(SERVICES)/.ready

# A test that finds no server, or no Java, says so and is skipped.
services: $(SERVICES)/.ready
	$(SERVICES)/bin/python -m pytest -rs tests/frames tests/spark tests/prepare/test_written.py \
		-k "spark or ibis or postgres or databases or dbt"

# The judge's own wheel, in an environment of its own, without foreknow.
judge: $(READY)
	.ci/judge $(BIN)/python

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(READY)
	$(BIN)/python -m benchmarks.audit_five_million
	$(BIN)/python -m benchmarks.audit_relation
	$(BIN)/python -m benchmarks.explorer
	$(BIN)/python -m benchmarks.exposed
	$(BIN)/python -m benchmarks.sights
	$(BIN)/python -m benchmarks.windows
	$(BIN)/python -m benchmarks.criteria
	$(BIN)/python -m benchmarks.risk
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
	$(BIN)/python -m benchmarks.decoy
	$(BIN)/python -m benchmarks.verification
	$(BIN)/python -m benchmarks.publish_scale

clean:
	rm -rf $(VENV) $(LOWEST) $(DOCS) $(SERVICES) site demo explored dist build .pytest_cache .mypy_cache .ruff_cache .hypothesis
