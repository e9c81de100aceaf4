# SPDX-License-Identifier: Apache-2.0
"""Quantiles of Student's t and of the normal distribution, from the standard library.

`growth()` judges in the user's own process, where neither scipy nor numpy need be installed.
"""

from __future__ import annotations

import math
from statistics import NormalDist

# Halvings of the angle: the last one moves it by less than a double's precision.
_HALVINGS = 60
# What was found before: a verdict asks the same few for each container. A dict of this module and no `lru_cache`, which
# the census would take for the program's.
_found: dict[tuple[float, int], float] = {}


def normal_quantile(probability: float) -> float:
    """Return the standard normal's quantile.

    Args:
        probability: Between 0 and 1, both excluded.
    """
    return NormalDist().inv_cdf(probability)


def t_quantile(probability: float, freedom: int) -> float:
    """Return Student's t quantile: bisection over the angle `atan(t / sqrt(freedom))`.

    Args:
        probability: From 0.5 on, below 1.
        freedom: Degrees of freedom, a whole number from 1 on.

    Raises:
        ValueError: Either is out of range.
    """
    if not 0.5 <= probability < 1 or freedom < 1:
        raise ValueError(f"no t quantile for probability {probability} and {freedom} degrees of freedom")
    known = (probability, freedom)
    if known not in _found:
        _found[known] = math.sqrt(freedom) * math.tan(_angle(2 * probability - 1, freedom))
    return _found[known]


def _angle(within: float, freedom: int) -> float:
    """Return the angle below which the probability is `within`."""
    low, high = 0.0, math.pi / 2
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if _within(middle, freedom) < within else (low, middle)
    return (low + high) / 2


def _within(angle: float, freedom: int) -> float:
    """Return the probability of |t| below `sqrt(freedom) * tan(angle)`.

    Abramowitz and Stegun, Handbook of Mathematical Functions, 26.7.3 (odd) and 26.7.4 (even): finite sums, since
    the degrees of freedom are a whole number.
    """
    sine, cosine = math.sin(angle), math.cos(angle)
    odd = freedom % 2
    term = cosine if odd else 1.0
    total = 0.0 if freedom == 1 else term
    for power in range(2 + odd, freedom - 1, 2):
        term *= cosine * cosine * (power - 1) / power
        total += term
    return 2 / math.pi * (angle + sine * total) if odd else sine * total
