# SPDX-License-Identifier: Apache-2.0
"""Whether the machine changed at a step: a server that gets fewer cores is slower by no fault of its own."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping

# Counters of the machine, in seconds of trouble since some start, in words, with the factor that makes them seconds.
WATCHED = {
    "cpu_pressure_some": ("tasks waited for a core", 1.0),
    "memory_pressure_some": ("tasks waited for memory", 1.0),
    "io_pressure_some": ("tasks waited for a disk", 1.0),
    "cgroup_throttled_us": ("the control group was held back by its processor quota", 1e-6),
}
KEPT_SECONDS = 600.0
# Shares of the time before and after a step that differ by this much are told.
TELLING = 0.15


class Surroundings:
    """The last minutes of the machine's counters."""

    def __init__(self) -> None:
        self._rows: deque[tuple[float, dict[str, float]]] = deque()

    def add(self, elapsed: float, values: Mapping[str, float]) -> None:
        """Take a reading of the machine."""
        self._rows.append((elapsed, {name: values[name] for name in WATCHED if name in values}))
        while self._rows[-1][0] - self._rows[0][0] > KEPT_SECONDS:
            self._rows.popleft()

    def change(self, at: float) -> str:
        """Return what became more or less frequent on the machine at a moment, in words, or an empty string."""
        rows = list(self._rows)
        before, after = [row for row in rows if row[0] < at], [row for row in rows if row[0] >= at]
        found = []
        for name, (words, unit) in WATCHED.items():
            was, now = share(before, name, unit), share(after, name, unit)
            if was is not None and now is not None and abs(now - was) >= TELLING:
                found.append(f"{words} {was * 100:.0f} % of the time before and {now * 100:.0f} % after")
        return "; ".join(found)


def share(rows: list[tuple[float, dict[str, float]]], name: str, unit: float) -> float | None:
    """Return a counter's seconds a second between the first and the last reading that has it."""
    known = [(elapsed, values[name]) for elapsed, values in rows if name in values]
    if len(known) < 2 or known[-1][0] <= known[0][0]:
        return None
    return max(0.0, (known[-1][1] - known[0][1]) * unit / (known[-1][0] - known[0][0]))
