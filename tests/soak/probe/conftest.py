# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import vllm_soak
from vllm_soak.probe.client import ProbeClient
from vllm_soak.probe.server import Server

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

PACKAGE = Path(vllm_soak.__file__).parents[1]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    """A probe in this process."""
    made = Server(tmp_path / f"{os.getpid()}.sock")
    made.start()
    yield made
    made.close()


@pytest.fixture
def client(server: Server) -> ProbeClient:
    return ProbeClient(server.path)


@pytest.fixture
def target(tmp_path: Path) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Starts a program with an armed environment; it is ended with the test."""
    with ExitStack() as stack:

        def start(source: str, folder: Path = tmp_path, **environment: str) -> subprocess.Popen[str]:
            process = subprocess.Popen(
                [sys.executable, "-W", "error", "-c", textwrap.dedent(source)],
                env={"PYTHONPATH": str(PACKAGE), "VLLM_SOAK_PROBE": str(folder), **environment},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
            stack.enter_context(process)
            stack.callback(process.kill)
            return process

        yield start
