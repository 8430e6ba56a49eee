# Everything happens in .venv: nothing is installed globally, no root is needed.
.PHONY: demo test quick coverage check lowest lock image release audit clean
.DEFAULT_GOAL := help

PYTHON ?= python3
NEWEST ?= $(shell command -v python3.14 || command -v python3.13 || command -v python3.12 || echo $(PYTHON))
VENV := .venv
BIN := $(VENV)/bin
QUICK := -q -m "not system and not server"

help:
	@echo "make demo    run the main job on breast-cancer and open-able report (about a minute)"
	@echo "make test    run every check: formatting, lint, types, all tests"
	@echo "make coverage  run all tests, and say which lines they do not reach"
	@echo "make quick   run the tests that need no server and no other processes"
	@echo "make lowest  run these on the lowest dependencies allowed, and on the newest Python here"
	@echo "make lock    pin the requirements again"
	@echo "make image   build the container image (BASE=debian where no image registry can be reached)"
	@echo "make release build the wheel, twice, compare, and list what it depends on (dist/)"
	@echo "make audit   report known vulnerabilities of what it depends on (dist/audit.json)"
	@echo "make clean   remove virtual environments and caches"

$(VENV)/.runtime: requirements/runtime.txt pyproject.toml scripts/setup.sh
	scripts/setup.sh "$(PYTHON)" "$(VENV)" requirements/runtime.txt
	touch $@

$(VENV)/.dev: $(VENV)/.runtime requirements/dev.txt
	scripts/setup.sh "$(PYTHON)" "$(VENV)" requirements/dev.txt
	touch $@

demo: $(VENV)/.runtime
	$(BIN)/wm demo

check: $(VENV)/.dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

test: check
	scripts/test.sh "$(BIN)"

coverage: $(VENV)/.dev
	scripts/test.sh "$(BIN)" --cov --cov-report=term:skip-covered

quick: $(VENV)/.dev
	scripts/test.sh "$(BIN)" $(QUICK)

lowest:
	scripts/setup.sh "$(PYTHON)" $(VENV)-lowest requirements/lowest.txt
	scripts/test.sh $(VENV)-lowest/bin $(QUICK)
	scripts/setup.sh "$(NEWEST)" $(VENV)-newest requirements/dev.txt
	scripts/test.sh $(VENV)-newest/bin $(QUICK)

lock:
	scripts/lock.sh

image:
	scripts/image.sh

$(VENV)-release/.made: requirements/release.txt scripts/setup.sh
	scripts/setup.sh "$(PYTHON)" $(VENV)-release requirements/release.txt
	touch $@

release: $(VENV)-release/.made
	scripts/release.sh $(VENV)-release/bin

audit: $(VENV)-release/.made
	mkdir -p dist
	-$(VENV)-release/bin/pip-audit -r requirements/runtime.txt --require-hashes --disable-pip -f json -o dist/audit.json

clean:
	rm -rf dist $(VENV) $(VENV)-lowest $(VENV)-newest $(VENV)-release .mypy_cache .pytest_cache .ruff_cache .coverage*
