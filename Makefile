# Every target sets up what it needs; `make` alone lists them.
PYTHON ?= python3
export CHROMIUM ?= /usr/bin/chromium
# Tests start some hundred processes of Python; compiled modules on the disk spare each of them half a second.
unexport PYTHONDONTWRITEBYTECODE
SOURCES := core torture rugnik app migrations tests bench docs tools

# Two environments from two locks: RUN holds what the service needs, VENV what it takes to work on it.
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
RUN := .venv-run
RUN_READY := $(RUN)/.ready
RUN_PIP := $(RUN)/bin/python -m pip
INSTALL := install --quiet --disable-pip-version-check
NEEDS_PYTHON := @$(PYTHON) -c 'import sys; sys.exit("rugnik needs Python 3.11 or newer") if sys.version_info < (3, 11) else None'

.DEFAULT_GOAL := help
.PHONY: help demo serve test quick interop torture browser pictures check format bench docs lock clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-8s %s\n", $$1, $$2}'

$(READY): requirements-dev.lock pyproject.toml
	$(NEEDS_PYTHON)
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip $(INSTALL) --require-hashes -r requirements-dev.lock
	$(BIN)/python -m pip $(INSTALL) --no-deps --no-build-isolation --editable .
	@touch $@

$(RUN_READY): requirements.lock requirements-build.lock pyproject.toml
	$(NEEDS_PYTHON)
	@echo "Installing what the service needs, about 600 MB, into $(RUN). This takes a minute or more."
	$(PYTHON) -m venv $(RUN)
	$(RUN_PIP) $(INSTALL) --require-hashes -r requirements.lock -r requirements-build.lock
	$(RUN_PIP) $(INSTALL) --no-deps --no-build-isolation --editable .
	@touch $@

demo: $(RUN_READY) ## a service with made-up data in it at http://127.0.0.1:8000, and how to look at it
	@$(RUN)/bin/rugnik demo $(DEMO)

serve: $(RUN_READY) ## run the service on SQLite at http://127.0.0.1:8000
	$(RUN)/bin/rugnik serve

# Two processes on two cores: BLAS threads of their own would only get in each other's way.
test: $(READY) browser ## run every test on real databases and in a real browser
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist worksteal

# What a change breaks most often, in under a minute on an idle machine: domains, budgets, plans and the ledger, the
# readers of uploads, the client, and the files of this repository. No PostgreSQL, no browser, no process of a server, no
# test that counts many draws, and fewer examples of each property: `make test` has them all. Coverage is reported here
# and not there, so that the whole suite keeps its time: it is that of the quick tests alone. Three processes start; none
# of them needs schemathesis, which takes a second to import.
QUICK := $(addprefix tests/core/,domain ledger test_budget.py test_canonical.py test_plan.py test_records.py test_synopsis.py) \
  $(addprefix tests/app/ingest/,test_batch.py test_corpus.py test_csv_reader.py test_errors.py test_lines.py \
    test_ndjson_reader.py test_thrift.py test_upstream_thrift.py) \
  $(addprefix tests/contracts/,test_deploy_files.py test_imports.py test_locks.py test_settings.py) \
  $(addprefix tests/rugnik/,test_alone.py test_errors.py test_frames.py test_retries.py test_uploads.py test_wire.py) \
  tests/app/cli/test_help.py
quick: $(READY) ## the tests that need no server and no patience: under a minute, with their coverage
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -q -n 2 --dist worksteal -p no:schemathesis --hypothesis-profile=quick \
	  --cov=core --cov=app --cov=rugnik --cov-report=term:skip-covered $(QUICK)

# `make test` runs these tests too where Go and R are installed, and says so where they are not.
interop: $(READY) ## read the log with Go's packages, and ask with the client for R; R is installed where that is allowed
	@command -v Rscript >/dev/null || { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && apt-get update -qq \
	  && apt-get install -y -qq --no-install-recommends r-base-core r-cran-httr2 r-cran-jsonlite; } \
	  || { echo "The client for R needs R with httr2 and jsonlite" >&2; exit 1; }
	GO=$$($(BIN)/python -c 'from bench.peers.environments import interpreter; print(interpreter("go").with_name("go"))') \
	  $(BIN)/python -m pytest -q -rs tests/core/log/test_interop.py tests/rugnik/test_parts.py

# Hours. `make torture ONLY=mutants` runs one part; TIMES=2 tries everything twice, to see that it runs.
torture: $(READY) ## long trials of every promise: crashes, faults, races, mutants; ONLY=part for one of them
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m torture $(ONLY)

# The pages are tested in Debian's Chromium; where it is missing and this may be changed, it is installed.
browser:
	@command -v $(CHROMIUM) >/dev/null || { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null \
	  && apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium; } \
	  || { echo "The dashboard's tests need Chromium: apt-get install chromium, or CHROMIUM=/its/path" >&2; exit 1; }

pictures: $(READY) browser ## the README's pictures of the dashboard, made anew
	$(BIN)/python -m bench.screenshots

check: $(READY) ## format, lint, types, import direction
	$(BIN)/ruff format --check $(SOURCES)
	$(BIN)/ruff check $(SOURCES)
	$(BIN)/mypy
	$(BIN)/python -m pytest -q -p no:cacheprovider tests/contracts/test_imports.py

format: $(READY) ## rewrite the sources in the agreed format
	$(BIN)/ruff check --fix-only $(SOURCES)
	$(BIN)/ruff format $(SOURCES)

# Under 15 minutes on two idle cores; `make bench FULL=1` measures everything, in more than an hour.
FULL ?=
bench: $(READY) ## the figures of docs/figures.md, side by side in one run; FULL=1 for all sizes
	FULL=$(FULL) $(BIN)/python -m bench

docs: $(READY) ## the documentation as a static site, its generated pages made anew
	$(BIN)/mkdocs build --strict

LOCK := uv pip compile --quiet --generate-hashes --no-header --no-emit-index-url --no-emit-find-links --python-version 3.11
UPGRADE := --upgrade
lock: ## renew the hashed locks (needs uv on the PATH); UPGRADE= keeps the versions that are locked
	$(LOCK) $(UPGRADE) --extra server -o requirements.lock pyproject.toml
	$(LOCK) $(UPGRADE) -c requirements.lock --extra server --group dev -o requirements-dev.lock pyproject.toml
	$(LOCK) $(UPGRADE) -c requirements-dev.lock --group build -o requirements-build.lock
	for peer in bench/peers/*.in; do $(LOCK) $(UPGRADE) -o "$${peer%.in}.lock" "$$peer" || exit; done

clean: ## remove the environments and what the tools left behind
	rm -rf $(VENV) $(RUN) .mypy_cache .ruff_cache .pytest_cache .hypothesis .coverage build dist bench/out torture/out
