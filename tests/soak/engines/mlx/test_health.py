# SPDX-License-Identifier: Apache-2.0
"""What a server on mlx says of itself, from a real socket."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest

from vllm_soak.engines.mlx.health import MlxHealth
from vllm_soak.engines.serve.port import LOOPBACK

UP = {"status": "healthy", "model_loaded": True}


@pytest.fixture
def ask() -> Iterator[Callable[[dict[str, Any]], MlxHealth]]:
    """Serves JSON by path."""
    servers = []

    def serve(answers: dict[str, Any]) -> MlxHealth:
        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                body = json.dumps(answers.get(self.path, {})).encode()
                self.send_response(200 if self.path in answers else 404)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: Any) -> None:
                """Say nothing."""

        server = HTTPServer((LOOPBACK, 0), Handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        servers.append(server)
        return MlxHealth(LOOPBACK, server.server_address[1], timeout=120.0)

    yield serve
    for server in servers:
        server.shutdown()
        server.server_close()


@pytest.mark.parametrize(
    ("health", "expected"),
    [
        (UP, True),
        (UP | {"ready": True}, True),
        (UP | {"ready": False}, False),
        (UP | {"model_loaded": False}, False),
        (UP | {"status": "unhealthy"}, False),
    ],
)
def test_it_is_up_when_its_model_is_ready(ask: Any, health: dict[str, Any], expected: bool) -> None:
    assert ask({"/health": health}).is_up() is expected


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        ({"num_running": 2, "num_waiting": 3}, 5),
        ({"num_running": 0, "num_waiting": 0}, 0),
        ({"num_running": None, "num_waiting": 0}, None),
        ({"status": "not_loaded"}, None),
    ],
)
def test_open_requests_are_those_that_run_and_wait(ask: Any, status: dict[str, Any], expected: float | None) -> None:
    assert ask({"/v1/status": status}).open_requests() == expected


def test_nothing_is_known_of_a_server_that_does_not_say(ask: Any) -> None:
    assert ask({}).open_requests() is None
    assert ask({}).is_up() is False
