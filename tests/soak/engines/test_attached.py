# SPDX-License-Identifier: Apache-2.0
"""Probes of a server that somebody else started."""

from __future__ import annotations

import socket
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from vllm_soak.engines.attached import Attached
from vllm_soak.engines.serve.health import Health


@pytest.fixture
def sleeper() -> Iterator[Callable[[dict[str, str]], int]]:
    """Starts a process with exactly the given environment, as one seems to have that overwrote its own; its pid."""
    made: list[subprocess.Popen[bytes]] = []

    def start(environment: dict[str, str]) -> int:
        made.append(subprocess.Popen(["/bin/sleep", "600"], env=environment))
        return made[-1].pid

    yield start
    for one in made:
        one.kill()
        one.wait()


def test_a_probe_beside_the_servers_is_found(
    sleeper: Callable[[dict[str, str]], int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # a socket's name must be short, and this folder's need not be
    server, engine, tool = sleeper({"VLLM_SOAK_PROBE": str(tmp_path)}), sleeper({}), sleeper({})
    attached = Attached(Health("127.0.0.1", 1), server)
    with socket.socket(socket.AF_UNIX) as first, socket.socket(socket.AF_UNIX) as second:
        second.bind(f"{engine}.sock")
        assert attached.socket(engine) is None, "the server itself carries none: nothing says where to look"
        first.bind(f"{server}.sock")
        found = {pid: attached.socket(pid) for pid in (server, engine, tool)}
    assert found == {
        server: tmp_path / f"{server}.sock",
        engine: tmp_path / f"{engine}.sock",
        tool: None,
    }
