# SPDX-License-Identifier: Apache-2.0
"""Growth that began after the first measured round: the rounds since, as a series of their own.

The round in which it began is in general grown in only partly, and is left out. Requests are counted from
the start of that round, since a cache that begins late slows down from there.
"""

from __future__ import annotations

from dataclasses import dataclass

from vllm_soak.verdict.pace import FEWEST_POINTS, line_of, pace
from vllm_soak.verdict.series import Series


@dataclass(frozen=True, slots=True)
class LateRun:
    """The last rounds of a container, all of which it grew in.

    Args:
        since: Number, from 1, of the measured round that growth began in.
        rounds: Rounds since then, that one included.
        total: Entries gained since, without those of the first round where they are not known.
        full: Length over requests after the first of these rounds; requests count from the start of it.
    """

    since: int
    rounds: int
    total: float
    full: Series

    @property
    def holds(self) -> bool:
        """Whether growth did not evidently slow down since."""
        rates = [step / span for step, span in zip(self.full.growth, self.full.spans, strict=True)]
        line = line_of(self.full)
        if len(rates) < FEWEST_POINTS:
            return rates[-1] >= line * rates[0]
        found = pace(self.full, quantum=1)
        return found is None or found.ratio >= line


def late_run(series: Series, first_round: int, *, began_before: bool) -> LateRun | None:
    """Return the rounds since growth began, or None when there was growth from the first, or for one round only.

    Args:
        series: Length over requests.
        first_round: Number of the measured round between the first two points.
        began_before: Whether growth began in the round that ends at the first point.
    """
    steps = series.growth
    start = len(steps)
    while start > 0 and steps[start - 1] > 0:
        start -= 1
    known = 0 if start == 0 else 1
    if (start == 0 and not began_before) or len(steps) - start - known < 1:
        return None
    full = _from(series, start + known)
    total = series.values[-1] - series.values[start]
    return LateRun(first_round + start - 1 + known, len(steps) - start + 1 - known, total, full)


def _from(series: Series, start: int) -> Series:
    requests = series.requests[start:]
    origin = 2 * requests[0] - requests[1]
    return Series([x - origin for x in requests], series.values[start:])
