# headrace: what a contributor types. `make` alone prints the list.
PYTHON := .venv/bin/python
HEADRACE := .venv/bin/headrace
TARGETS := demo test

.PHONY: help ## print this list
help:
	@sed -nE 's/^\.PHONY: ([a-z-]+) ## (.*)/  make \1|\2/p' $(MAKEFILE_LIST) | awk -F'|' '{ printf "%-22s %s\n", $$1, $$2 }'

.PHONY: setup ## build .venv from the lock of the stack that fits this machine (once)
setup:
	@tools/setup

.PHONY: demo ## run the flights pipeline end to end on real data
demo: setup
	$(HEADRACE) data flights
	$(HEADRACE) run flights

.PHONY: test ## run the tests, less the slow ones
test: setup
	$(PYTHON) -m pytest -m "not slow"

.PHONY: test-cluster ## play the compiled pipeline step by step against MariaDB and PostgreSQL, without a cluster
test-cluster: setup
	$(PYTHON) -m pytest -m "cluster and not long"

.PHONY: test-all ## run all tests
test-all: setup
	$(PYTHON) -m pytest

.PHONY: check ## lint, and check that modules import only what stands below them
check: setup
	.venv/bin/ruff check .
	.venv/bin/lint-imports

.PHONY: bench ## compare headrace with stock TFX on the same work
bench: setup
	$(PYTHON) bench/stock_tfx.py

.PHONY: docs-errors ## write docs/errors.md from the catalogue of codes
docs-errors: setup
	$(PYTHON) -m pipeline.error_codes > docs/errors.md.part
	mv docs/errors.md.part docs/errors.md

.PHONY: stack-current ## try HEAD in a new Debian 13 root with its own Python (TARGETS="demo test")
stack-current:
	@tools/stack-current $(TARGETS)

.PHONY: lock ## remake requirements/*.lock (UPGRADE=1 moves every version)
lock: setup
	@tools/lock $(if $(UPGRADE),--upgrade)

.PHONY: clean ## remove what the set-up and the tools made; runs/ and data/ stay
clean:
	rm -rf .venv .tools build *.egg-info .pytest_cache .ruff_cache .hypothesis .import_linter_cache .grimp_cache
	rm -rf --one-file-system .stacks
	find bench components pipeline tests tools -name __pycache__ -prune -exec rm -rf {} +
