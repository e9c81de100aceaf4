# SPDX-License-Identifier: Apache-2.0
"""Quantiles of request latency, read from a round's histogram."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from vllm_soak.report.measure import Curve, measured_rounds, warm_up_requests

if TYPE_CHECKING:
    from vllm_soak.store.record import Arm

QUANTILES = (0.5, 0.9, 0.99)


def bucket_counts(histogram: dict[str, Any]) -> tuple[list[float], list[float]]:
    """Upper bounds in seconds and requests in each bucket, the overflow last.

    Returns empty lists for a histogram that is absent or does not add up.
    """
    try:
        bounds = [float(one) for one in histogram["bounds"]]
        counts = [float(one) for one in histogram["counts"]]
    except (KeyError, TypeError, ValueError):
        return [], []
    if not all(map(math.isfinite, [*bounds, *counts])) or len(counts) != len(bounds) + 1:
        return [], []
    if sum(counts) <= 0 or min(counts) < 0:
        return [], []
    return bounds, counts


def quantile(histogram: dict[str, Any], share: float) -> float | None:
    """Estimate a quantile in seconds, linear inside its bucket; the last bound when beyond it.

    The same estimate as Prometheus' `histogram_quantile`.
    """
    bounds, counts = bucket_counts(histogram)
    if not counts or not bounds:
        return None
    target, seen, lower = share * sum(counts), 0.0, 0.0
    for upper, inside in zip(bounds, counts, strict=False):
        if inside and seen + inside >= target:
            return min(lower + (upper - lower) * (target - seen) / inside, upper)
        seen, lower = seen + inside, upper
    return bounds[-1]


def quantile_curve(arm: Arm, share: float) -> Curve:
    """One quantile of every measured round that has a histogram."""
    found = [
        (one.total_requests, value)
        for one in measured_rounds(arm)
        if (value := quantile(one.latency, share)) is not None
    ]
    return Curve(arm.name, [at for at, _ in found], [value for _, value in found], warm_up_requests(arm))
