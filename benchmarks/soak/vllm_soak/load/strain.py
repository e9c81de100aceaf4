# SPDX-License-Identifier: Apache-2.0
"""Whether the load process itself was the bottleneck: its processor time, and how late its event loop ran."""

from __future__ import annotations

import time
from typing import Any

from vllm_soak.load.tally import Latency
from vllm_soak.sampling.memory import memory

# One thread does everything, so one core is all it can use.
BUSY_CORE = 0.9


class Strain:
    """Adds up processor time and lag over one load, and over each second."""

    def __init__(self) -> None:
        self._began = self._second_began = (time.perf_counter(), time.process_time())
        self._lag = Latency()
        self._second_lag = 0.0

    def late(self, seconds: float) -> None:
        """The event loop woke a timer this much too late."""
        self._lag.record(max(0.0, seconds))
        self._second_lag = max(self._second_lag, seconds)

    def second(self) -> dict[str, float]:
        """`cpu` (cores) and `lag` (longest, in seconds) since the last call."""
        row = {"cpu": _cores(self._second_began), "lag": self._second_lag}
        self._second_began, self._second_lag = (time.perf_counter(), time.process_time()), 0.0
        return row

    def whole(self) -> dict[str, Any]:
        """The `client` field of `loaded`."""
        cpu, lag = _cores(self._began), self._lag.summary()
        return {
            "cpu": cpu,
            "lag_p99": lag.get("p99", 0.0),
            "lag_max": lag.get("max", 0.0),
            "rss_anon": memory().get("rss_anon"),
            "bottleneck": bottleneck(cpu),
        }


def bottleneck(cpu: float) -> str | None:
    """How the client limited the load, or None when it did not.

    Being late is no sign of that: where server and client share the cores, a turn waits for one because the server
    has it.

    Args:
        cpu: Cores that it used.
    """
    if cpu < BUSY_CORE:
        return None
    return f"the load process used {cpu:.2f} of the one core that it can use: it may have set the rate, not the server"


def _cores(began: tuple[float, float]) -> float:
    wall = time.perf_counter() - began[0]
    return (time.process_time() - began[1]) / wall if wall > 0 else 0.0
