# SPDX-License-Identifier: Apache-2.0
"""What one second of load says of a server: latency, rate, and processor time a request."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import Any

from vllm_soak.steps.series import CPU_PER_REQUEST, LATENCY_MEAN, LATENCY_P50, LATENCY_P99, THROUGHPUT

# As much of the series as goes into a capture.
KEPT_SECONDS = 600
COLUMNS = ("elapsed", LATENCY_P50, LATENCY_P99, LATENCY_MEAN, THROUGHPUT, "cores", CPU_PER_REQUEST)


def of_load(event: Mapping[str, Any], cores: float | None) -> dict[str, float]:
    """Return the values of a load process's `second` event (`docs/contracts.md`).

    Args:
        event: The event.
        cores: Cores that the target used in that second, or None when that is not known.
    """
    latency, done = event.get("latency") or {}, float(event.get("completed") or 0)
    values = {
        THROUGHPUT: done,
        **{f"latency_{name}": float(latency[name]) for name in ("p50", "p99") if name in latency},
    }
    values |= {name: float(event[name]) for name in ("in_flight", "failed") if name in event}
    return {**values, **processor_time(done, cores)}


def of_server(
    before: Mapping[str, float], after: Mapping[str, float], seconds: float, cores: float | None
) -> dict[str, float]:
    """Return the values between two readings of a server's own counters, for a server that somebody else drives.

    A counter that went back (the server restarted) gives nothing.
    """
    done = after.get("requests", 0.0) - before.get("requests", 0.0)
    if seconds <= 0 or done < 0 or "requests" not in before:
        return {}
    values = {THROUGHPUT: done / seconds, **processor_time(done / seconds, cores)}
    ended = after.get("latency_count", 0.0) - before.get("latency_count", 0.0)
    if ended > 0:
        values[LATENCY_MEAN] = (after.get("latency_sum", 0.0) - before.get("latency_sum", 0.0)) / ended
    return values


def processor_time(rate: float, cores: float | None) -> dict[str, float]:
    """Return `cores` and, with requests, seconds of processor time a request."""
    if cores is None:
        return {}
    return {"cores": cores, **({CPU_PER_REQUEST: cores / rate} if rate > 0 else {})}


class RecentSeconds:
    """The last minutes of the series, for a capture."""

    def __init__(self) -> None:
        self._rows: deque[tuple[float, dict[str, float]]] = deque(maxlen=KEPT_SECONDS)

    def add(self, elapsed: float, values: dict[str, float]) -> None:
        """Take one second."""
        self._rows.append((elapsed, values))

    def page(self) -> str:
        """Return them as CSV."""
        rows = [{"elapsed": elapsed, **values} for elapsed, values in list(self._rows)]
        lines = [",".join(f"{row[name]:.6g}" if name in row else "" for name in COLUMNS) for row in rows]
        return "\n".join([",".join(COLUMNS), *lines]) + "\n"
