# SPDX-License-Identifier: Apache-2.0
"""Real servers of the engines on mlx, with tiny models: up in seconds."""

from __future__ import annotations

import http.client
import json
import os
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from vllm_soak.engines.launch import mlx_environment
from vllm_soak.engines.mlx.command import MODULE, server_words
from vllm_soak.engines.mlx.health import MlxHealth
from vllm_soak.engines.models.build import build
from vllm_soak.engines.serve.port import LOOPBACK, free_port
from vllm_soak.engines.serve.server import ServerProcess
from vllm_soak.environments.cache import ensure
from vllm_soak.environments.releases import parse_release
from vllm_soak.probe.client import ProbeClient

IDLE_SECONDS = 120.0
Message = dict[str, str]


@dataclass
class Served:
    """One server that is up."""

    server: ServerProcess
    sockets: Path
    model: str

    def ask(self, path: str, headers: dict[str, str] | None = None) -> tuple[int, Any]:
        """Status and JSON of a GET."""
        connection = self._connection()
        connection.request("GET", path, headers=headers or {})
        answer = connection.getresponse()
        content = json.loads(answer.read())
        connection.close()
        return answer.status, content

    def chat(self, messages: Sequence[Message], max_tokens: int = 16) -> str:
        """The reply to a chat, decoded greedily."""
        connection = self._post(messages, max_tokens, stream=False)
        content = json.loads(connection.getresponse().read())
        connection.close()
        assert content["choices"][0]["finish_reason"] in {"length", "stop"}, content
        return str(content["choices"][0]["message"]["content"])

    def leave_early(self, messages: Sequence[Message], max_tokens: int, events: int) -> None:
        """Ask for a stream, and close the connection after a few events, or when it has ended before."""
        connection = self._post(messages, max_tokens, stream=True)
        answer = connection.getresponse()
        while events and (line := answer.readline()):
            events -= line.startswith(b"data: ")
        answer.close()
        connection.close()

    def settled(self) -> dict[str, float]:
        """Figures of the idle server."""
        until = time.monotonic() + IDLE_SECONDS
        while self.server.health.open_requests() != 0:
            assert time.monotonic() < until, "requests are left open"
            time.sleep(0.05)
        return dict(self.probe.sample(settle=True)["values"])

    @property
    def probe(self) -> ProbeClient:
        """The probe of its one process."""
        (socket,) = self.sockets.glob("*.sock")
        return ProbeClient(socket)

    def _post(self, messages: Sequence[Message], max_tokens: int, *, stream: bool) -> http.client.HTTPConnection:
        body = {"model": self.model, "messages": list(messages), "max_tokens": max_tokens, "temperature": 0}
        connection = self._connection()
        connection.request(
            "POST", "/v1/chat/completions", json.dumps(body | {"stream": stream}), {"Content-Type": "application/json"}
        )
        return connection

    def _connection(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection(self.server.health.host, self.server.health.port, timeout=IDLE_SECONDS)


@pytest.fixture
def serve_mlx(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Served]]:
    """Starts servers, and ends them."""
    servers: list[ServerProcess] = []

    def start(
        requirement: str,
        *given: str,
        kind: str,
        patches: str,
        program: Sequence[str] = ("-m", MODULE),
        **variables: str,
    ) -> Served:
        release, number = parse_release(requirement), len(servers)
        python = ensure(requirement, on_progress=print).python
        sockets = tmp_path / f"probe-{number}"
        sockets.mkdir(mode=0o700)
        home = mlx_environment(tmp_path / f"home-{number}")
        ours = {"VLLM_SOAK_PATCHES": patches, "VLLM_SOAK_PROBE": str(sockets), "OMP_NUM_THREADS": "1"}
        environment = os.environ | home | ours | variables
        folder = build(kind, tmp_path_factory.getbasetemp() / "mlx-models")
        weigh = [str(python), "-m", "vllm_soak.engines.mlx.weights", str(folder)]
        subprocess.run(weigh, check=True, cwd=tmp_path, env=environment)
        port = free_port()
        server = ServerProcess(
            command=[str(python), *program, *server_words(str(folder), {}, given, release, port)],
            log=tmp_path / f"server-{number}.log",
            environment=environment,
            health=MlxHealth(LOOPBACK, port),
        )
        servers.append(server)
        server.launch()
        server.wait_healthy(print)
        return Served(server, sockets, str(folder))

    yield start
    for server in servers:
        server.stop()
