# Everything happens in .venv: nothing is installed globally, no root is needed.
.PHONY: demo test thorough quick browser coverage check lowest newest hosts interop docs wheel release audit image sbom lock clean
.DEFAULT_GOAL := help

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
QUICK := -q -m "not system and not server" tests

help:
	@echo "make demo    run the main job on breast-cancer and open-able report (about a minute)"
	@echo "make test    run every check: formatting, lint, types, all tests"
	@echo "make coverage  run all tests, and say which lines they do not reach"
	@echo "make thorough  run all tests, with four times as many examples of each property"
	@echo "make quick   run the product's tests that need no server and run no campaign in processes of its own"
	@echo "make browser run the tests in a real browser, which is installed if it is missing"
	@echo "make lowest  run these on the lowest dependencies allowed"
	@echo "make newest  run these on the newest Python that all dependencies have wheels for"
	@echo "make hosts   run a campaign over many hosts, some of which fail (network namespaces: as root, on Linux)"
	@echo "make docs    build the documentation site in docs/_build/html"
	@echo "make wheel   build wheel and sdist in dist/, and run demo and notebook from the wheel alone"
	@echo "make interop ask real model servers, installed apart (some minutes, 3 GB below the user's cache)"
	@echo "make lock    pin the requirements again"
	@echo "make image   build the container image (BASE=debian where no image registry can be reached)"
	@echo "make sbom    list what is installed in the image that buildah made (dist/treeproof-image.cdx.json)"
	@echo "make release build the wheel twice and compare, and list what it depends on (dist/)"
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

thorough: $(VENV)/.dev
	scripts/test.sh "$(BIN)" --hypothesis-profile=thorough

quick: $(VENV)/.dev
	scripts/test.sh "$(BIN)" $(QUICK)

browser: $(VENV)/.dev
	scripts/chromium.sh .chromium
	$(BIN)/pytest -q tests/system/test_browser.py

lowest:
	scripts/setup.sh "$(PYTHON)" $(VENV)-lowest requirements/lowest.txt
	scripts/test.sh $(VENV)-lowest/bin $(QUICK)

newest:
	scripts/newest.sh $(QUICK)

hosts: $(VENV)/.dev
	scripts/check_hosts.sh $(BIN)/python

$(VENV)-docs/.made: requirements/docs.txt pyproject.toml scripts/setup.sh
	scripts/setup.sh "$(PYTHON)" $(VENV)-docs requirements/docs.txt
	touch $@

docs: $(VENV)-docs/.made
	OMP_NUM_THREADS=1 $(VENV)-docs/bin/python -m sphinx -q -b html -W --keep-going docs docs/_build/html
	@echo "docs/_build/html/index.html"

$(VENV)-release/.made: requirements/release.txt scripts/setup.sh
	scripts/setup.sh "$(PYTHON)" $(VENV)-release requirements/release.txt
	touch $@

wheel: $(VENV)-release/.made
	scripts/wheel.sh "$(PYTHON)" $(VENV)-release/bin

interop: $(VENV)/.dev
	$(BIN)/python -m research.interop

lock:
	scripts/lock.sh

image:
	scripts/image.sh

sbom: $(VENV)-release/.made
	scripts/image_sbom.sh $(VENV)-release/bin

release: wheel
	scripts/release.sh $(VENV)-release/bin

audit: $(VENV)-release/.made
	mkdir -p dist
	-REQUESTS_CA_BUNDLE="$${REQUESTS_CA_BUNDLE-$(wildcard /etc/ssl/certs/ca-certificates.crt)}" $(VENV)-release/bin/pip-audit -r requirements/runtime.txt --require-hashes --disable-pip -f json -o dist/audit.json

clean:
	rm -rf .chromium $(VENV) $(VENV)-lowest $(VENV)-newest $(VENV)-docs $(VENV)-release dist docs/_build .mypy_cache .pytest_cache .ruff_cache .coverage*
