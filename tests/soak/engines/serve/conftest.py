# SPDX-License-Identifier: Apache-2.0
"""Servers without a model: real processes with real probes, up in a second."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from vllm_soak.engines.serve.health import Health
from vllm_soak.engines.serve.port import LOOPBACK, free_port
from vllm_soak.engines.serve.server import ServerProcess
from vllm_soak.engines.serve.target import ServeTarget
from vllm_soak.engines.silence import Patience
from vllm_soak.engines.target import TargetProcess

TOY = Path(__file__).with_name("toy_server.py")
PACKAGE = Path(__file__).resolve().parents[4] / "benchmarks" / "soak"


def toy_environment(folder: Path) -> dict[str, str]:
    """This process's environment, with the probe in a folder of its own."""
    ours = {"VLLM_SOAK_PROBE": str(folder), "VLLM_SOAK_ROLE": "APIServer", "PYTHONPATH": str(PACKAGE)}
    return {**os.environ, **ours, "VLLM_SOAK_PATCHES": "none"}


@pytest.fixture
def make_server(tmp_path: Path) -> Iterator[Callable[..., ServerProcess]]:
    """Makes toy servers and ends them."""
    made: list[ServerProcess] = []

    def make(*arguments: str, start_seconds: float = 300.0) -> ServerProcess:
        sockets = tmp_path / f"probe-{len(made)}"
        sockets.mkdir(mode=0o700)
        port = free_port()
        server = ServerProcess(
            command=[sys.executable, str(TOY), str(port), *arguments],
            log=tmp_path / f"toy-{len(made)}.log",
            environment=toy_environment(sockets),
            health=Health(LOOPBACK, port, timeout=60.0),
            start_seconds=start_seconds,
        )
        made.append(server)
        return server

    yield make
    for server in made:
        server.stop()


@pytest.fixture
def make_serve(make_server: Callable[..., ServerProcess], tmp_path: Path) -> Iterator[Callable[..., ServeTarget]]:
    """Makes toy servers with a load process beside each, and ends them."""
    made: list[ServeTarget] = []

    def make(*arguments: str, patience: Patience | None = None) -> ServeTarget:
        server = make_server(*arguments)
        sockets = Path(server.environment["VLLM_SOAK_PROBE"])
        load = TargetProcess(
            python=Path(sys.executable),
            log=tmp_path / f"load-{len(made)}.log",
            probe_folder=sockets,
            environment=os.environ,
            patience=patience,
            module="vllm_soak.load",
            who="the load process",
        )
        made.append(ServeTarget(server, load, sockets, {"name": "toy", "driver": "serve"}))
        return made[-1]

    yield make
    for target in made:
        target.stop()
