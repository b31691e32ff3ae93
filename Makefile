# The two commands that matter: `make run` and `make test`. Both set up what they need first, from
# nothing but Python (3.11 or newer), git and make, and do nothing twice.

PYTHON ?=
VENV := .venv
BIN := $(VENV)/bin
# Written when an installation has succeeded; newer than the lock it was made from.
READY := $(VENV)/.ready
READY_DEV := $(VENV)/.ready-dev
# What is compiled as Tiphys is installed.
COMPILED := src/tiphys/executor/birth.c scripts/build_birth.py

.PHONY: help run test check format lock ui bench chaos clean

help:
	@echo "make run     set up and run examples/diamond.yaml with the live tree"
	@echo "make test    set up and run every check and test that this machine can run"
	@echo "make ui      build the web pages that the server shows"
	@echo "make format  put the code into shape"
	@echo "make lock    compute the locks anew after a change of dependencies"
	@echo "make bench   measure Tiphys beside other engines into benchmarks/RESULTS.md (BENCH=--small: quickly)"
	@echo "make chaos   the long faults: 200 kills in 10,000 nodes, every sync, 200 power cuts, 1 GiB of logs"
	@echo "make clean   remove what the others made"

run: $(READY)
	$(BIN)/tiphys run examples/diamond.yaml

test: $(READY_DEV)
	@scripts/check

check: test

$(READY): requirements.lock pyproject.toml scripts/setup $(COMPILED)
	@PYTHON="$(PYTHON)" scripts/setup requirements.lock
	@touch $@

$(READY_DEV): requirements-dev.lock requirements.lock pyproject.toml scripts/setup $(COMPILED)
	@PYTHON="$(PYTHON)" scripts/setup requirements-dev.lock
	@touch $(READY) $@

format: $(READY_DEV)
	$(BIN)/ruff check --fix src tests benchmarks
	$(BIN)/ruff format src tests benchmarks

lock:
	@scripts/lock

ui: $(READY)
	@scripts/ui

bench: $(READY_DEV)
	$(BIN)/python -m benchmarks.speed $(BENCH)

chaos: $(READY_DEV)
	TIPHYS_CHAOS=full $(BIN)/pytest -r fEs tests/chaos tests/integration/postgres/test_outage.py

clean:
	rm -rf $(VENV) src/tiphys/executor/*.so .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache dist build
