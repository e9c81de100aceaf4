# SPDX-License-Identifier: Apache-2.0
"""Whether a series has stepped to another level, and where.

`ruptures` finds where the series splits best (kernel change-point detection with the linear kernel, which is the
exact search for changes of the mean; Celisse et al. 2018, as implemented there in C). A split alone proves nothing:
any series has a best one. A step is told only when

* the level after it differs by at least `effect` of the level before,
* by at least `NOISE_FACTOR` times what any stretch of the same length before it differed from the level there (what
  this machine does by itself, drift included), and
* it stays: both halves after the split are beyond the middle between the levels, and so are nearly all bins.

All of this in logarithms, so that a rise and a fall by the same factor are equally far.

On a machine that others use as well, most of what a series does by itself is theirs. So a step is also looked for
among those bins alone in which others were in the way about as much as they are now (`crowd.py`): like with like.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import median

import numpy as np

# Bins before and after a split: two minutes of what was usual, forty seconds of what is new. With twenty, neighbours
# that took the machine for some seconds now and then were told in a third of the runs (benchmarks/step_rates.py).
FEWEST = (24, 8)
# Among bins that are alike fewer before are enough: the neighbours' bursts are not among them.
FEWEST_ALIKE = (20, 8)
NOISE_FACTOR = 2.0
# Share of the bins after a step that must be beyond the middle between both levels.
STAYING = 0.9


@dataclass(frozen=True, slots=True)
class Change:
    """A step in a series.

    Args:
        at: Index of the first value of the new level.
        before: Level before it, the median.
        after: Level since.
    """

    at: int
    before: float
    after: float

    @property
    def ratio(self) -> float:
        """New level over old."""
        return self.after / self.before


def find_change(values: Sequence[float], effect: float, fewest: tuple[int, int] = FEWEST) -> Change | None:
    """Return the step in a series of positive values, or None when there is none to be told.

    Args:
        values: Bins in order, all above 0.
        effect: Least change as a share of the level before: 0.2 for 20 %.
        fewest: Bins of what was usual, and of what is new, at least.
    """
    if len(values) < sum(fewest):
        return None
    logs = np.log(np.array(values, dtype=float))
    for at in candidates(logs, *fewest):
        if is_step(logs, at, math.log1p(effect)):
            return Change(at, median(values[:at]), median(values[at:]))
    return None


def find_among(values: Sequence[float], places: Sequence[int], effect: float) -> Change | None:
    """Return the step in some of a series' values, with its place in the whole series.

    Args:
        values: All bins.
        places: Indices of those that are looked at, in order.
        effect: As in `find_change`.
    """
    found = find_change([values[at] for at in places], effect, FEWEST_ALIKE)
    return found and replace(found, at=places[found.at])


def candidates(logs: np.ndarray, before: int, after: int) -> list[int]:
    """Return where the series may have stepped, in order: its best split, and its splits under a penalty."""
    import ruptures

    search = ruptures.KernelCPD(kernel="linear", min_size=after).fit(logs.reshape(-1, 1))
    found = {*search.predict(n_bkps=1), *search.predict(pen=penalty(logs))}
    return sorted(int(at) for at in found if before <= at <= len(logs) - after)


def penalty(logs: np.ndarray) -> float:
    """Return what a further split must gain: 3 log n variances of the noise, told from neighbouring differences."""
    spread = float(np.median(np.abs(np.diff(logs)))) / (0.6745 * math.sqrt(2))
    return max(3 * math.log(len(logs)) * spread**2, 1e-9)


def is_step(logs: np.ndarray, at: int, least: float) -> bool:
    """Whether the series is at another level from an index on, by the rules above."""
    before, after = logs[:at], logs[at:]
    level = float(np.median(before))
    rise = float(np.median(after)) - level
    if abs(rise) < max(least, NOISE_FACTOR * wander(before, len(after))):
        return False
    beyond = (after - level) / rise > 0.5
    half = len(after) // 2
    halves = (np.median(after[:half]), np.median(after[half:]))
    return bool(np.mean(beyond) >= STAYING) and all((float(one) - level) / rise > 0.5 for one in halves)


def wander(logs: np.ndarray, length: int) -> float:
    """Return how far the middle of any stretch of a length was from the middle of the whole."""
    length = min(length, len(logs) // 2)
    stretches = np.lib.stride_tricks.sliding_window_view(logs, length)
    return float(np.max(np.abs(np.median(stretches, axis=1) - np.median(logs))))
