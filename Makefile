# One command per job. `make PYTHON=python3.12 run` uses another Python (3.11 or later).
PYTHON ?= python3
PYTEST_ARGS ?= -n auto
VENV := .venv
BIN := $(VENV)/bin
# No header and no index in the locks: they would name where the packages came from.
LOCK := --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header --no-annotate

.DEFAULT_GOAL := help
.PHONY: help setup setup-dev translations catalogue run test check format-check lint types layers templates format lock remove-data clean bench-switch

help: ## list the commands
	@sed -n 's/^\([a-z-]*\):.*## /\1|/p' $(MAKEFILE_LIST) | awk -F'|' '{ printf "  make %-12s %s\n", $$1, $$2 }'

# $(call install,<lock>,<lock that it contains>): brings the virtual environment to a lock, once per lock and Python.
define install
	@set -eu; \
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "Changeover needs Python 3.11 or later. Name one, for instance: make PYTHON=python3.12 run" >&2; exit 1; }; \
	version="$$($(PYTHON) -c 'import sys; print(sys.version_info[:3], sys.base_prefix)')"; \
	sum="$$({ echo "$$version"; cat requirements/bootstrap.lock requirements/$(1).lock; } | cksum | tr ' ' '-')"; \
	test ! -e "$(VENV)/.$(1)-$$sum" || exit 0; \
	found="$$($(BIN)/python -c 'import sys; print(sys.version_info[:3], sys.base_prefix)' 2>/dev/null || true)"; \
	if [ "$$found" != "$$version" ] || ! $(BIN)/python -m pip --version >/dev/null 2>&1; then \
		echo "Creating the virtual environment $(VENV)"; \
		$(PYTHON) -m venv --clear $(VENV) >/dev/null 2>&1 || { rm -rf $(VENV); \
			echo "$(PYTHON) cannot create a virtual environment. On Debian and Ubuntu install the package" \
				"python3-venv (apt-get install python3-venv), then run make again." >&2; exit 1; }; \
	fi; \
	rm -f $(VENV)/.local-* $(VENV)/.dev-*; \
	echo "Installing requirements/$(1).lock"; \
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --root-user-action=ignore \
		--require-hashes -r requirements/bootstrap.lock; \
	$(BIN)/uv pip sync --quiet --python $(BIN)/python requirements/$(1).lock; \
	touch "$(VENV)/.$(1)-$$sum"
endef

setup: ## virtual environment with what running needs
	@set -- $(VENV)/.dev-*; if [ -e "$$1" ]; then $(MAKE) --no-print-directory setup-dev; \
		else $(MAKE) --no-print-directory setup-run; fi

.PHONY: setup-run
setup-run:
	$(call install,local)
	@$(MAKE) --no-print-directory translations

setup-dev: ## virtual environment with what tests and checks need too
	$(call install,dev)
	@$(MAKE) --no-print-directory translations

translations:
	@$(BIN)/python -m babel.messages.frontend --quiet compile -d app/translations

catalogue: setup-dev ## read the texts of the interface into the catalogues, keeping what is translated
	@mkdir -p build
	$(BIN)/python -m babel.messages.frontend --quiet extract -F app/translations/babel.cfg --no-location --sort-output \
		--project=changeover --version=1 -o build/messages.pot app templates jobs
	$(BIN)/python -m babel.messages.frontend --quiet update -i build/messages.pot -d app/translations --width=120 \
		--no-fuzzy-matching --ignore-obsolete --ignore-pot-creation-date

run: setup ## start everything and print the address (PORT, HOST, CHANGEOVER_HOME)
	@exec $(BIN)/python -m app.local up

test: setup-dev ## all tests (PYTEST_ARGS="tests/unit -x" for some)
	$(BIN)/python -m pytest $(PYTEST_ARGS)

check: setup-dev ## everything that CI checks: format, lint, types, layers and all tests (templates among them)
	@$(MAKE) --no-print-directory format-check lint types layers
	$(BIN)/python -m pytest $(PYTEST_ARGS)

format-check: setup-dev
	$(BIN)/ruff format --check .

lint: setup-dev ## ruff
	$(BIN)/ruff check .

types: setup-dev ## mypy, strict
	$(BIN)/mypy

layers: setup-dev ## import-linter
	$(BIN)/lint-imports

templates: setup-dev ## templates compile, name only what exists and hold nothing inline
	$(BIN)/python -m pytest -q tests/architecture/test_templates.py

format: setup-dev ## format, and fix what ruff can fix
	$(BIN)/ruff check --fix --exit-zero --quiet .
	$(BIN)/ruff format .

lock: setup-dev ## regenerate the lock files (UPGRADE=--upgrade for newer versions)
	cd requirements && for name in bootstrap dev; do "../$(BIN)/uv" pip compile $(LOCK) $(UPGRADE) $$name.in -o $$name.lock; done
	cd requirements && for name in local base; do "../$(BIN)/uv" pip compile $(LOCK) -c dev.lock $$name.in -o $$name.lock; done

.PHONY: openapi
openapi: setup-dev ## docs/reference/openapi.json, from the code
	$(BIN)/python -m tests.api.openapi_file

bench-switch: setup-dev ## what a switch costs beside its model, copy and index alone (SIZE=small|full)
	$(BIN)/python -m evaluations.bench.bench_switch --size $(or $(SIZE),small)

.PHONY: bench-crud
bench-crud: setup-dev ## lists and details of records under row rules, beside the same SQL by hand
	$(BIN)/python -m evaluations.bench.bench_crud

.PHONY: bench-search
bench-search: setup-dev ## searches by words, by meaning and by both, beside the same SQL by hand (SIZE=small|full)
	$(BIN)/python -m evaluations.bench.bench_search --size $(or $(SIZE),small)

.PHONY: bench-quality
bench-quality: setup-dev ## how well search finds on public sets (QUALITY_DATA=folder SIZE=small|full or SETS=a,b, RERANK_URL)
	@test -n "$(QUALITY_DATA)" || { echo "QUALITY_DATA is missing: the folder of the retrieval sets" >&2; exit 2; }
	$(BIN)/python -m evaluations.bench.bench_quality --size $(or $(SIZE),small) --sets "$(SETS)" --data "$(QUALITY_DATA)" \
		--rerank "$(RERANK_URL)" --rerank-model "$(RERANK_MODEL)" --elasticsearch "$(TEST_ELASTICSEARCH_URL)"

.PHONY: bench-docs
bench-docs: setup-dev ## ingesting documentation beside a loop by hand; full: LlamaIndex, LangChain, Haystack too (SIZE=small|full)
	$(BIN)/python -m evaluations.bench.bench_docs --size $(or $(SIZE),small)

.PHONY: bench-docs-quality
bench-docs-quality: setup-dev ## how well collections of documents are found on public sets (QUALITY_DATA=folder SIZE=small|full)
	@test -n "$(QUALITY_DATA)" || { echo "QUALITY_DATA is missing: the folder of the retrieval sets" >&2; exit 2; }
	$(BIN)/python -m evaluations.bench.bench_docs_quality --size $(or $(SIZE),small) --data "$(QUALITY_DATA)"

.PHONY: bench-recovery
bench-recovery: setup-dev ## seconds until a switch moves again after a kill, per kind of process (SIZE=small|full)
	$(BIN)/python -m evaluations.bench.bench_recovery --size $(or $(SIZE),small)

.PHONY: search-degradation
search-degradation: setup-dev ## every part of a search away, slow or wrong, and docs/reference/search-degradation.md
	$(BIN)/python -m tests.integration.search.degradation.report $(PYTEST_ARGS)

.PHONY: faults
faults: setup-dev ## every fault, the sweeps and the soaks, and docs/reference/faults.md (SIZE=small|full)
	$(BIN)/python -m tests.faults.report --size $(or $(SIZE),small) $(PYTEST_ARGS)

remove-data: setup ## delete the data of `make run` (database, queue, password)
	@$(BIN)/python -m app.local remove

clean: ## remove the virtual environment and caches; data stay
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -type d -not -path './.git/*' -exec rm -rf {} +
