# SPDX-License-Identifier: Apache-2.0
"""Seconds gathered into bins: the median of a few seconds is steady enough to compare."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from statistics import median

from vllm_soak.steps.crowd import Crowd, mean_crowd

BIN_SECONDS = 5
# Five minutes: long enough to know the noise, short enough to forget a drift.
MOST_BINS = 60


@dataclass(frozen=True, slots=True)
class Bin:
    """The middle of a series over a few seconds.

    Args:
        elapsed: When its first second ended.
        value: Median of its seconds.
        crowd: How much others on the machine were in the way, the mean; None where that is not known.
    """

    elapsed: float
    value: float
    crowd: Crowd | None = None


class Bins:
    """One series, binned, as far back as `MOST_BINS`.

    Only seconds that were measured count, so a bin may span a pause; it is then compared like any other.
    """

    def __init__(self) -> None:
        self.bins: deque[Bin] = deque(maxlen=MOST_BINS)
        self._seconds: list[tuple[float, float]] = []
        self._crowds: list[Crowd] = []

    def add(self, elapsed: float, value: float, crowd: Crowd | None = None) -> bool:
        """Take a second; return whether it completed a bin. What is not above 0 has no logarithm, and is left out."""
        if value <= 0:
            return False
        self._seconds.append((elapsed, value))
        if crowd is not None:
            self._crowds.append(crowd)
        if len(self._seconds) < BIN_SECONDS:
            return False
        middle = median(value for _, value in self._seconds)
        self.bins.append(Bin(self._seconds[0][0], middle, mean_crowd(self._crowds)))
        self.drop_open()
        return True

    def values(self) -> list[float]:
        """Return the bins' values."""
        return [one.value for one in self.bins]

    def crowds(self) -> list[Crowd | None]:
        """Return how much others were in the way in each bin."""
        return [one.crowd for one in self.bins]

    def drop_open(self) -> None:
        """Forget the bin that is not complete."""
        self._seconds.clear()
        self._crowds.clear()

    def forget(self, before: float) -> None:
        """Forget the bins that began before a moment."""
        kept = [one for one in self.bins if one.elapsed >= before]
        self.bins.clear()
        self.bins.extend(kept)
