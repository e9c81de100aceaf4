# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import gc
import math
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import vllm_soak

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

LIMIT_SECONDS = 600  # of a hang; a program takes a second or two on a quiet machine


@pytest.fixture
def run_python() -> Callable[[str], str]:
    """Runs a program in a process of its own, with this package on its path; its output."""
    package = Path(vllm_soak.__file__).parents[1]

    def run(source: str) -> str:
        command = [sys.executable, "-W", "error", "-c", textwrap.dedent(source)]
        environment = {"PYTHONPATH": str(package)}
        done = subprocess.run(
            command, check=False, capture_output=True, text=True, timeout=LIMIT_SECONDS, env=environment
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


@pytest.fixture
def collector_at_rest(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No collection but those that a test makes; each of them is looked into."""
    monkeypatch.setattr("vllm_soak.heap.cycles.SLOW", math.inf)  # however slow or busy the machine is
    gc.collect()
    gc.disable()
    yield
    gc.enable()
