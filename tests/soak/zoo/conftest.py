# SPDX-License-Identifier: Apache-2.0
"""Specimens of the zoo, each measured in a process of its own and judged by the rules of a soak."""

from __future__ import annotations

import ast
import functools
import importlib.util
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import vllm_soak
from vllm_soak.store.record import Arm
from vllm_soak.verdict.outcome import ProcessVerdict
from vllm_soak.verdict.process import judge_process

ZOO = Path(__file__).parent
PACKAGE = Path(vllm_soak.__file__).parents[1]
LIMIT_SECONDS = 600  # of a hang; a specimen takes some seconds on a quiet machine
Verdicts = Callable[[Path], ProcessVerdict]


def constants(module: Path) -> dict[str, Any]:
    """The capitalised constants of a specimen, read without running it."""
    found = {}
    for node in ast.parse(module.read_text()).body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            try:
                found[node.targets[0].id] = ast.literal_eval(node.value)
            except ValueError:
                continue
    return found


@pytest.fixture
def facts() -> Callable[[Path], dict[str, Any]]:
    """Reads a specimen's constants; skips the test where the library that it is about is not installed."""

    def read(module: Path) -> dict[str, Any]:
        found = constants(module)
        wanted = found.get("REQUIRES")
        if wanted and importlib.util.find_spec(wanted) is None:
            pytest.skip(f"{wanted} is not installed")
        return found

    return read


@pytest.fixture(scope="session")
def verdict(tmp_path_factory: pytest.TempPathFactory) -> Verdicts:
    """Measures a specimen, once, and judges it."""
    folder = tmp_path_factory.mktemp("zoo")

    @functools.cache
    def judged(module: Path) -> ProcessVerdict:
        result = folder / f"{module.parent.name}-{module.stem}"
        line = [sys.executable, str(ZOO / "measure.py"), str(module), str(result)]
        environment = {"PYTHONPATH": str(PACKAGE), "PATH": "/usr/bin:/bin"}
        done = subprocess.run(
            line, env=environment, capture_output=True, text=True, timeout=LIMIT_SECONDS, check=False, cwd=folder
        )
        assert done.returncode == 0, done.stderr
        arm: Arm = pickle.loads(result.read_bytes())
        return judge_process(arm, arm.censuses[0].process)

    return judged
