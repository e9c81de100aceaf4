# SPDX-License-Identifier: Apache-2.0
"""What a server says of itself over HTTP: whether it is up, its version, its models, its open requests."""

from __future__ import annotations

import http.client
import json
from contextlib import suppress
from typing import Any

TIMEOUT = 5.0
OPEN_REQUESTS = ("vllm:num_requests_running", "vllm:num_requests_waiting")


class Health:
    """Asks one server; nothing is held open between questions.

    Args:
        host: Its host.
        port: Its port.
        timeout: Seconds to wait for an answer.
    """

    def __init__(self, host: str, port: int, timeout: float = TIMEOUT) -> None:
        self.host = host
        self.port = port
        self.timeout = timeout

    @property
    def url(self) -> str:
        """For example `http://127.0.0.1:8000`."""
        return f"http://{f'[{self.host}]' if ':' in self.host else self.host}:{self.port}"

    def is_up(self) -> bool:
        """Whether it says that it is healthy."""
        return self._get("/health") is not None

    def version(self) -> str:
        """Its engine's version, or an empty string."""
        return str(self._json("/version").get("version", ""))

    def model(self) -> dict[str, Any]:
        """The first of the models that it serves: `id`, `root`, `max_model_len`; empty when it does not say."""
        models = self._json("/v1/models").get("data")
        return dict(models[0]) if isinstance(models, list) and models and isinstance(models[0], dict) else {}

    def open_requests(self) -> float | None:
        """Requests that it has not finished, or None when it does not say."""
        text = self._get("/metrics") or b""
        counts = [line.rpartition(" ")[2] for line in text.decode(errors="replace").splitlines() if is_open(line)]
        with suppress(ValueError):
            return sum(map(float, counts)) if counts else None
        return None

    def _json(self, path: str) -> dict[str, Any]:
        with suppress(ValueError, TypeError):
            found = json.loads(self._get(path) or b"{}")
            return found if isinstance(found, dict) else {}
        return {}

    def _get(self, path: str) -> bytes | None:
        """The body of a good answer, else None."""
        connection = http.client.HTTPConnection(self.host, self.port, timeout=self.timeout)
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            body = answer.read()
        except (OSError, http.client.HTTPException):
            return None
        finally:
            connection.close()
        return body if answer.status == http.client.OK else None


def is_open(line: str) -> bool:
    """Whether a line of `/metrics` counts requests that are not finished."""
    return line.startswith(tuple(f"{name}{end}" for name in OPEN_REQUESTS for end in ("{", " ")))
