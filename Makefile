# Everything happens in .venv: nothing is installed globally, no root is needed.
.PHONY: demo test check lock clean
.DEFAULT_GOAL := help

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

help:
	@echo "make demo    run the main job on breast-cancer and open-able report (about a minute)"
	@echo "make test    run every check: formatting, lint, types, all tests with coverage"
	@echo "make lock    pin the requirements anew"
	@echo "make clean   remove .venv and caches"

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

lock:
	scripts/lock.sh

clean:
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .coverage*
