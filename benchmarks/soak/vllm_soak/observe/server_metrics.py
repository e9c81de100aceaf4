# SPDX-License-Identifier: Apache-2.0
"""What a server says of itself under `/metrics`, in Prometheus' text format.

A vLLM server answers with hundreds of lines, most of them buckets of histograms. Lines are chosen by name before
they are parsed, which makes it cheap enough to ask often.
"""

from __future__ import annotations

import http.client
import math
import socket
from contextlib import suppress
from urllib.parse import urlsplit

from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample

# Name of a sample to the name of a value; engines of one server are added up, KV usage is the fullest engine's.
WANTED = {
    "vllm:num_requests_running": "running",
    "vllm:num_requests_waiting": "waiting",
    "vllm:kv_cache_usage_perc": "kv_usage",
    "vllm:gpu_cache_usage_perc": "kv_usage",
    "vllm:num_preemptions_total": "preemptions",
    "vllm:request_success_total": "requests",
    "vllm:prompt_tokens_total": "prompt_tokens",
    "vllm:generation_tokens_total": "generation_tokens",
    "vllm:e2e_request_latency_seconds_sum": "latency_sum",
    "vllm:e2e_request_latency_seconds_count": "latency_count",
}
MOST_OF = frozenset({"kv_usage"})
LONGEST = 16 * 1024 * 1024


class ServerMetrics:
    """Asks one server.

    Args:
        url: The server's address or its metrics page: `http://127.0.0.1:8000` or `.../metrics`.
        timeout: Seconds to wait; a server that is late is asked again next time.
        wanted: Names of samples to names of values.
    """

    def __init__(self, url: str, *, timeout: float = 1.0, wanted: dict[str, str] | None = None) -> None:
        parts = urlsplit(url if "://" in url else f"http://{url}")
        self._host, self._port = parts.hostname or "127.0.0.1", parts.port
        self._path = parts.path if parts.path not in {"", "/"} else "/metrics"
        self._secure = parts.scheme == "https"
        self._timeout = timeout
        self._wanted = wanted or WANTED
        self._connection: http.client.HTTPConnection | None = None

    def read(self) -> dict[str, float]:
        """Return the values; empty when the server does not answer, or not in time."""
        # A server hangs up on a connection that was idle for some seconds: that is no reason to go without.
        tries = 1 if self._connection is None else 2
        return next((found for _ in range(tries) if (found := self._try()) is not None), {})

    def close(self) -> None:
        """Hang up; harmless when repeated."""
        if self._connection is not None:
            with suppress(OSError):
                self._connection.close()
            self._connection = None

    def _try(self) -> dict[str, float] | None:
        try:
            return values_of(self._fetch(), self._wanted)
        except (OSError, http.client.HTTPException, ValueError):
            self.close()
            return None

    def _fetch(self) -> str:
        connection = self._connection or self._connect()
        connection.request("GET", self._path, headers={"Accept": "text/plain"})
        answer = connection.getresponse()
        body = answer.read(LONGEST)
        if answer.status != http.client.OK:
            raise ValueError(f"status {answer.status}")
        return body.decode(errors="replace")

    def _connect(self) -> http.client.HTTPConnection:
        kind = http.client.HTTPSConnection if self._secure else http.client.HTTPConnection
        self._connection = kind(self._host, self._port, timeout=self._timeout)
        self._connection.connect()
        self._connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return self._connection


def values_of(page: str, wanted: dict[str, str]) -> dict[str, float]:
    """Return the wanted values of a metrics page.

    Raises:
        ValueError: A wanted line is not Prometheus' text format.
    """
    names = tuple(wanted)
    lines = [line for line in page.splitlines() if line.startswith(names)]
    values: dict[str, float] = {}
    for family in text_string_to_metric_families("\n".join(lines) + "\n"):
        for sample in family.samples:
            _add(values, sample, wanted.get(sample.name))
    return values


def _add(values: dict[str, float], sample: Sample, name: str | None) -> None:
    if name is None or math.isnan(sample.value):
        return
    if name in MOST_OF:
        values[name] = max(values.get(name, 0.0), float(sample.value))
    else:
        values[name] = values.get(name, 0.0) + float(sample.value)
