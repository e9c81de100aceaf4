# SPDX-License-Identifier: Apache-2.0
"""Puts points into a run's store: in batches, and thinned out as a run becomes long.

For two hours every point is kept; then every second one, and half as many again each time the run's length has
doubled. So a run of any length has a picture that is fine enough, and a file that can be read in seconds.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from vllm_soak.store.outside import Point

# Seconds for which every point is kept.
WHOLE_SECONDS = 7200.0
BATCH_SECONDS = 5.0


class PointKeeper:
    """Takes points and hands them on in batches; any thread may call it.

    Args:
        write: Takes a batch, for example `RunStore.add_points`.
        whole: Seconds for which every point is kept.
        batch: Seconds between two writes.
    """

    def __init__(
        self,
        write: Callable[[list[Point]], None],
        *,
        whole: float = WHOLE_SECONDS,
        batch: float = BATCH_SECONDS,
    ) -> None:
        self._write = write
        self._whole = whole
        self._batch = batch
        self._waiting: list[Point] = []
        self._kept: dict[str, float] = {}
        self._written = 0.0
        self._mutex = threading.Lock()

    def add(self, points: list[Point]) -> None:
        """Take points of one moment; write when a batch is full."""
        with self._mutex:
            for point in points:
                if point.elapsed - self._kept.get(point.process, -self._whole) >= self._stride(point.elapsed):
                    self._kept[point.process] = point.elapsed
                    self._waiting.append(point)
            is_due = bool(points) and points[-1].elapsed - self._written >= self._batch
            self._written = points[-1].elapsed if is_due else self._written
        if is_due:
            self.flush()

    def flush(self) -> None:
        """Write what waits."""
        with self._mutex:
            waiting, self._waiting = self._waiting, []
        if waiting:
            self._write(waiting)

    def _stride(self, elapsed: float) -> float:
        """Return the least seconds between two kept points of a series: 0 at first, then 2, 4, 8..."""
        stride, length = 0.0, self._whole
        while elapsed >= length:
            stride, length = max(2.0, 2 * stride), 2 * length
        return stride - 0.5 if stride else 0.0
