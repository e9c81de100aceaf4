# SPDX-License-Identifier: Apache-2.0
"""A live process with a probe, busy in a function that stacks show."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

import vllm_soak

BUSY = """
import time
from vllm_soak.probe import arm
arm()
kept = []
def serve_requests():
    while True:
        kept.append(object())
        time.sleep(0.01)
print("ready", flush=True)
serve_requests()
"""


@dataclass(frozen=True)
class Live:
    """A running process and its probe's socket."""

    process: subprocess.Popen[str]
    socket: Path

    @property
    def pid(self) -> int:
        return self.process.pid


@pytest.fixture
def live(tmp_path: Path) -> Iterator[Live]:
    sockets = tmp_path / "sockets"
    package = Path(vllm_soak.__file__).parents[1]
    variables = {**os.environ, "PYTHONPATH": str(package), "VLLM_SOAK_PROBE": str(sockets)}
    with subprocess.Popen([sys.executable, "-c", BUSY], env=variables, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        process.stdout.readline()
        yield Live(process, sockets / f"{process.pid}.sock")
        process.kill()
