# SPDX-License-Identifier: Apache-2.0
"""What a load says of itself while it runs, and its look at the server's health."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from vllm_soak.load.tally import Tally

if TYPE_CHECKING:
    from vllm_soak.load.exchange import Exchange
    from vllm_soak.load.failure import DeadServerError
    from vllm_soak.load.load import Load

# Short enough to see the event loop's lag, long enough to cost nothing.
BEAT_SECONDS = 0.05
BEATS_PER_PROGRESS = 5
SECOND = 1.0


class Pulse:
    """Beats until it is cancelled or the server is dead.

    Args:
        load: Whose.
        emit: Takes events.

    Attributes:
        tally: Of the second under way.
    """

    def __init__(self, load: Load, emit: Callable[[dict[str, Any]], None]) -> None:
        self.tally = Tally()
        self._load = load
        self._emit = emit
        self._sent = 0
        self._next_second = 0.0

    async def beat(self, exchange: Exchange) -> DeadServerError | None:
        """Emit `progress` and `second` events; return when the load cannot go on."""
        self._next_second = time.perf_counter() + SECOND
        count = 0
        while (dead := self._load.health.verdict(time.perf_counter(), exchange.last_byte)) is None:
            wanted = time.perf_counter() + BEAT_SECONDS
            await asyncio.sleep(BEAT_SECONDS)
            self._load.strain.late(time.perf_counter() - wanted)
            count += 1
            if count % BEATS_PER_PROGRESS == 0:
                self._emit(self._progress())
            if time.perf_counter() >= self._next_second:
                self._end_second()
        return dead

    def last(self) -> None:
        """The rest of a second, when the load has ended."""
        if self.tally.requests or self._load.sent > self._sent:
            self._end_second()

    def _progress(self) -> dict[str, Any]:
        load = self._load
        done = sum(part.requests for part in load.parts)
        total = 0 if math.isinf(load.order.requests) else int(load.order.requests)
        return {
            "event": "progress",
            "done": done,
            "total": total,
            "seconds": time.perf_counter() - load.began,
            "in_flight": load.health.in_flight,
            "failed": sum(part.outcomes["failed"] for part in load.parts),
        }

    def _end_second(self) -> None:
        load, tally = self._load, self.tally
        row = {"event": "second", "time": time.time(), "seconds": time.perf_counter() - load.began}
        counts = {"sent": load.sent - self._sent, "in_flight": load.health.in_flight}
        self.tally, self._sent = Tally(), load.sent
        self._next_second += SECOND
        self._emit({**row, **tally.summary(), **counts, **load.strain.second()})
