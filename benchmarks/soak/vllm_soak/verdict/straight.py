# SPDX-License-Identifier: Apache-2.0
"""A straight line through points, by least squares."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True, slots=True)
class Straight:
    """A line `start + slope * x`.

    Args:
        scatter: Standard deviation of the points about the line, from n - 2 degrees of freedom.
        leverage: Sum of squares of x about its mean; `scatter / leverage**0.5` is the slope's standard error.
        points: Points that it was laid through.
    """

    slope: float
    start: float
    scatter: float
    leverage: float
    points: int

    @property
    def freedom(self) -> int:
        """Degrees of freedom of the scatter."""
        return self.points - 2


def straight(x: Sequence[float], y: Sequence[float]) -> Straight:
    """Lay a line through at least three points, whose x are not all the same."""
    middle, level = fmean(x), fmean(y)
    centred = [one - middle for one in x]
    leverage = sum(one * one for one in centred)
    slope = sum(one * (value - level) for one, value in zip(centred, y, strict=True)) / leverage
    residuals = [value - level - slope * one for one, value in zip(centred, y, strict=True)]
    scatter = (sum(one * one for one in residuals) / (len(x) - 2)) ** 0.5
    return Straight(slope, level - slope * middle, scatter, leverage, len(x))
