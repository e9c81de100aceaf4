# SPDX-License-Identifier: Apache-2.0
"""One series under watch: what was usual, and whether it has stepped since."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from statistics import median

from vllm_soak.steps.bins import BIN_SECONDS, Bins
from vllm_soak.steps.change import FEWEST_ALIKE, Change, find_among, find_change
from vllm_soak.steps.crowd import Crowd, alike

# A step must be found in this many bins in a row, at the same place give or take so many seconds.
CONFIRMATIONS = 2
SAME_PLACE = 2.5 * BIN_SECONDS
# Share of a step, in logarithms, that must show among bins that are alike: else it came with the waiting.
SHOWING = 0.6


@dataclass(slots=True)
class Track:
    """One series under watch.

    Args:
        effect: Least change that is told, as a share.
        bins: What was seen of it.
        since: Bins from here on are compared as a whole: what was before was explained by others on the machine.
        place: Where a step was found last, in seconds.
        times: In how many bins in a row.
        alike: Whether it was found among bins that are alike; None where there are too few of them.
    """

    effect: float
    bins: Bins = field(default_factory=Bins)
    since: float = 0.0
    place: float = -1.0
    times: int = 0
    change: Change | None = None
    alike: bool | None = None

    @property
    def certain(self) -> bool:
        """Whether a step was found often enough."""
        return self.times >= CONFIRMATIONS

    def add(self, elapsed: float, value: float, crowd: Crowd | None = None) -> bool:
        """Take a second; return whether a step is certain now."""
        if not self.bins.add(elapsed, value, crowd):
            return False
        self.change, self.alike = self._look()
        if self.change is None:
            self.times = 0
            return False
        place = self.bins.bins[self.change.at].elapsed
        self.times = self.times + 1 if abs(place - self.place) <= SAME_PLACE else 1
        self.place = place
        return self.certain

    def forget(self, before: float, *, keep: bool) -> None:
        """Start anew from a moment.

        Args:
            before: What was before it is no longer usual.
            keep: Bins that are alike are still compared: the step was not the server's.
        """
        self.since = before
        if not keep:
            self.bins.forget(before)
        self.times, self.change = 0, None

    def _look(self) -> tuple[Change | None, bool | None]:
        """Return the step, and whether it shows among bins that are alike; these are asked first."""
        values, places = self.bins.values(), alike(self.bins.crowds(), FEWEST_ALIKE[1])
        among = find_among(values, places, self.effect)
        if among is not None:
            return among, True
        skipped = sum(one.elapsed < self.since for one in self.bins.bins)
        found = find_change(values[skipped:], self.effect)
        if found is None:
            return None, None
        at = found.at + skipped
        sides = ([values[one] for one in places if (one >= at) is late] for late in (False, True))
        return replace(found, at=at), self._shows(found, *sides)

    @staticmethod
    def _shows(found: Change, before: list[float], after: list[float]) -> bool | None:
        """Whether most of a step shows among the bins that are alike before and after it."""
        if len(before) < FEWEST_ALIKE[0] or len(after) < FEWEST_ALIKE[1]:
            return None
        return math.log(median(after) / median(before)) / math.log(found.ratio) >= SHOWING
