# SPDX-License-Identifier: Apache-2.0
"""The corpus lives beside the other benchmarks, outside the package."""

from __future__ import annotations

import importlib.util
import sys

import pytest


@pytest.fixture(scope="module", autouse=True)
def _importable(root):
    sys.path.insert(0, str(root / "benchmarks"))
    yield
    sys.path.remove(str(root / "benchmarks"))


@pytest.fixture(scope="module")
def command(root, _importable):
    spec = importlib.util.spec_from_file_location("corpus_command", root / "benchmarks" / "corpus.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def cases(_importable):
    from corpus.cases import CASES

    return {case.name: case for case in CASES}
