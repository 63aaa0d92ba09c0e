# `make app` and `make test` do all the set-up on a machine with Python 3.11 or newer.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
PACKAGES := planner hardware_db profiles

.PHONY: app plan test coverage lint type clean

app: $(INSTALLED)
	$(BIN)/forerun app examples/llama-3-8b.yaml

plan: $(INSTALLED)
	$(BIN)/forerun plan examples/llama-3-8b.yaml

# Tests start many interpreters: they compile our modules once, whatever the environment says.
test: export PYTHONDONTWRITEBYTECODE :=
test: lint type
	$(BIN)/pytest

# The tests once more with the lines that they reach: it takes twice as long.
coverage: $(INSTALLED)
	$(BIN)/pytest $(addprefix --cov=,$(PACKAGES)) --cov-report=term

lint: $(INSTALLED)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

type: $(INSTALLED)
	$(BIN)/mypy $(PACKAGES)

$(INSTALLED): pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "forerun needs Python 3.11 or newer: make PYTHON=python3.x")'
	@echo 'Setting up $(VENV), once: some minutes, about 3 GB to download on Linux with CUDA, under 1 GB elsewhere.'
	@echo 'torch is most of it, and planning does without: see README.md, "Install without make".'
	$(PYTHON) -m venv $(VENV)
	test -t 1 || quiet=--quiet; \
	$(BIN)/python -m pip install $$quiet --disable-pip-version-check -c constraints.txt -e '.[profile,test]'
	touch $@

clean:
	rm -rf $(VENV) build dist *.egg-info .coverage .mypy_cache .pytest_cache .ruff_cache .hypothesis
