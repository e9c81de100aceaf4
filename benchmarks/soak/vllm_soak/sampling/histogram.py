# SPDX-License-Identifier: Apache-2.0
"""Latency as a histogram: bounded memory however long a soak runs."""

from __future__ import annotations

import math
from bisect import bisect_left
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

LOWEST = 50e-6
HIGHEST = 1000.0
RESOLUTION = 1.05
# Upper bounds of the buckets in seconds, 5 % apart, from 50 microseconds to 1,000 seconds: 346 numbers.
BOUNDS: tuple[float, ...] = tuple(
    float(f"{LOWEST * RESOLUTION**step:.6g}") for step in range(math.ceil(math.log(HIGHEST / LOWEST, RESOLUTION)) + 1)
)


class Histogram:
    """Counts of durations by size."""

    def __init__(self) -> None:
        self._counts = [0] * (len(BOUNDS) + 1)
        self._sum = 0.0

    def record(self, seconds: float) -> None:
        """Count one duration."""
        self._counts[bisect_left(BOUNDS, seconds)] += 1
        self._sum += seconds

    def snapshot(self) -> dict[str, Any]:
        """`bounds` in seconds, `counts` (one more than bounds: the overflow), and `sum` in seconds."""
        return {"bounds": list(BOUNDS), "counts": list(self._counts), "sum": self._sum}


def merge_snapshots(snapshots: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """One snapshot of all durations; empty ones (`{}`) add nothing.

    Raises:
        ValueError: The snapshots have different bounds.
    """
    merged: dict[str, Any] = {}
    for one in snapshots:
        if not merged:
            merged = {**one, "counts": list(one["counts"])} if one else {}
        elif one:
            _add(merged, one)
    return merged


def _add(merged: dict[str, Any], one: dict[str, Any]) -> None:
    if merged["bounds"] != one["bounds"]:
        raise ValueError("histograms with different bounds cannot be merged")
    merged["counts"] = [left + right for left, right in zip(merged["counts"], one["counts"], strict=True)]
    merged["sum"] += one["sum"]


def quantile(snapshot: dict[str, Any], share: float) -> float | None:
    """The upper bound of the bucket in which a share (0 to 1) of all durations is reached, in seconds.

    Infinity when that is beyond the last bound; None without durations.
    """
    counts = snapshot.get("counts", [])
    total = sum(counts)
    if not total:
        return None
    wanted, seen = max(1, math.ceil(share * total)), 0
    for bound, count in zip([*snapshot["bounds"], math.inf], counts, strict=True):
        seen += count
        if seen >= wanted:
            return float(bound)
    return math.inf
