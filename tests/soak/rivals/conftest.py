# SPDX-License-Identifier: Apache-2.0
"""The command and the modules of the benchmark against other tools, which are in no package; no engine is needed."""

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
def command(root):
    spec = importlib.util.spec_from_file_location("rivals_command", root / "benchmarks" / "rivals.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
