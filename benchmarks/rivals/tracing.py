# SPDX-License-Identifier: Apache-2.0
"""tracemalloc, with one frame and with 25."""

from __future__ import annotations

import tracemalloc

from rivals.adapter import Adapter
from rivals.clock import Stopwatch
from rivals.evidence import Reading

SHOWN = 1000


class Tracemalloc(Adapter):
    """Growth since the start, by the line that allocated, the largest first."""

    frames = 1

    def start(self) -> None:
        """Trace from now on, and take the snapshot to compare with."""
        tracemalloc.start(self.frames)
        self.before = tracemalloc.take_snapshot()

    def read(self, requests: int) -> Reading:  # noqa: ARG002 - this tool does not count
        """Lines that hold more than at the start; only the snapshot stops the engine."""
        watch = Stopwatch()
        now = tracemalloc.take_snapshot()
        stop = watch.read()
        rows = [row for row in now.compare_to(self.before, "lineno") if row.size_diff > 0]
        rows.sort(key=lambda row: -row.size_diff)
        texts = [f"{row.traceback[-1].filename}:{row.traceback[-1].lineno}: +{row.size_diff} B" for row in rows[:SHOWN]]
        return Reading(texts, stop)

    def stop(self) -> None:
        """Forget all traces."""
        tracemalloc.stop()
        del self.before

    def on(self) -> None:
        """Trace."""
        tracemalloc.start(self.frames)

    def off(self) -> None:
        """Do not trace."""
        tracemalloc.stop()


class Tracemalloc25(Tracemalloc):
    """With the whole stack of an allocation."""

    frames = 25
