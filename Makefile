# Every target sets up what it needs; `make` alone lists them.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
export CHROMIUM ?= /usr/bin/chromium
SOURCES := core rugnik app migrations tests bench

.DEFAULT_GOAL := help
.PHONY: help demo serve test browser pictures check format bench lock clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-8s %s\n", $$1, $$2}'

$(READY): requirements-dev.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit("rugnik needs Python 3.11 or newer") if sys.version_info < (3, 11) else None'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-dev.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

demo: $(READY) ## a service with made-up data in it at http://127.0.0.1:8000, and how to look at it
	@$(BIN)/rugnik demo $(DEMO)

serve: $(READY) ## run the service on SQLite at http://127.0.0.1:8000
	$(BIN)/rugnik serve

test: $(READY) browser ## run every test on real databases and in a real browser
	$(BIN)/python -m pytest -n 2 --dist worksteal

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

bench: $(READY) ## the figures in the README, side by side in one run
	$(BIN)/python -m bench

lock: ## renew the hashed locks (needs uv on the PATH)
	uv pip compile --quiet --upgrade --generate-hashes --no-header --no-emit-index-url --no-emit-find-links \
	  --python-version 3.11 -o requirements.lock pyproject.toml
	uv pip compile --quiet --upgrade --generate-hashes --no-header --no-emit-index-url --no-emit-find-links \
	  --python-version 3.11 -c requirements.lock --group dev -o requirements-dev.lock pyproject.toml
	uv pip compile --quiet --upgrade --generate-hashes --no-header --no-emit-index-url --no-emit-find-links \
	  --python-version 3.11 -c requirements-dev.lock --group build -o requirements-build.lock

clean: ## remove the environment and what the tools left behind
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis build dist
