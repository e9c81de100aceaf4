# SPDX-License-Identifier: Apache-2.0
"""Growth beneath something that comes and goes: requests in flight hide a leak that adds less than they vary by.

A container that shrank in a round is emptied by someone, and most often that is all there is to it. Where a leak adds
to it, though, its lowest levels climb: in the end all of the last rounds lie above all of the first ones. That is never
enough to accuse; it is reason not to acquit.
"""

from __future__ import annotations

import math
from itertools import pairwise
from statistics import fmean, median
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vllm_soak.verdict.series import Series

# Fewer rounds say nothing; below the second number they are only reason to look on: half of the later levels above all
# of the earlier ones, and all of the later above half of the earlier. Noise without memory does that in 2 of 20 times.
FEWEST_ROUNDS = 5
TELLING_ROUNDS = 10
# The first and the last levels, as shares of all, that have to lie apart. Noise without memory does that once in 70
# times with eleven levels, once in 924 with sixteen.
APART = 0.4
# Each quarter of the rounds has to rise by this share of what a straight line would: one step does not.
EVENLY = 0.25


def climbs(series: Series) -> bool:
    """Whether a series that fell in between may be growing all the same."""
    values, rounds = series.values, len(series.growth)
    if rounds < FEWEST_ROUNDS:
        return False
    if rounds < TELLING_ROUNDS:
        middle = len(values) // 2
        earlier, later = values[:middle], values[middle:]
        return median(later) > max(earlier) and min(later) > median(earlier)
    part = int(len(values) * APART)
    return min(values[-part:]) > max(values[:part]) and _is_even(values) and not _slows(series)


def risen(series: Series) -> float:
    """By how much the later half of the levels lies above the earlier one."""
    middle = len(series.values) // 2
    return median(series.values[middle:]) - median(series.values[:middle]) if middle else 0.0


def _is_even(values: list[float]) -> bool:
    """Whether each quarter of the levels lies well above the one before."""
    levels = _means(values, 4)
    steps = [after - before for before, after in pairwise(levels)]
    return min(steps) >= EVENLY * fmean(steps)


def _slows(series: Series) -> bool:
    """Whether the last third of the levels rose less than growth with the logarithm of the work does."""
    levels, places = _means(series.values, 3), _means(series.requests, 3)
    logs = [math.log(max(one, 1)) for one in places]
    (early, late), (slow, slower) = _rates(levels, places), _rates(logs, places)
    return late * slow < early * slower


def _rates(levels: list[float], places: list[float]) -> list[float]:
    pairs = zip(pairwise(levels), pairwise(places), strict=True)
    return [(after - before) / (end - start) for (before, after), (start, end) in pairs]


def _means(values: Sequence[float], parts: int) -> list[float]:
    """The mean of each of so many equal parts."""
    bounds = [at * len(values) // parts for at in range(parts + 1)]
    return [fmean(values[start:end]) for start, end in pairwise(bounds)]
