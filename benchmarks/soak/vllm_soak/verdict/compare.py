# SPDX-License-Identifier: Apache-2.0
"""Throughput of two arms, from pairs of blocks that ran next to each other."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING

from scipy import stats

from vllm_soak.verdict.outcome import Ratio
from vllm_soak.verdict.series import measured_rounds

if TYPE_CHECKING:
    from vllm_soak.store.record import Arm

CONFIDENCE = 0.95


def throughput_ratio(base: Arm, other: Arm) -> Ratio | None:
    """Return `other` over `base` in requests a second, or None without a pair of blocks.

    Where the patched process switched its patches off and on (`switched_blocks` of its facts), those
    pairs are compared: two processes differ by the cores that they got, one process does not.

    Blocks pair up by round index and place in the round, so that a drift of the machine's speed
    cancels. The interval of the median is that of the sign test: the k-th smallest and k-th
    largest ratio, k the greatest with binomial coverage of 95 %. Below six pairs no k reaches it,
    and the interval is the whole range.
    """
    pace, rival = block_rates(base), block_rates(other)
    switched = other.engine.get("switched_blocks") or []
    ratios = sorted(on / off for off, on in switched if off > 0)
    ratios = ratios or sorted(rival[place] / pace[place] for place in pace.keys() & rival.keys())
    if not ratios:
        return None
    low, high = median_interval(ratios)
    return Ratio(median(ratios), low, high, len(ratios))


def block_rates(arm: Arm) -> dict[tuple[int, int], float]:
    """Return requests a second of each measured block, by round index and place in the round."""
    return {
        (one.index, place): requests / seconds
        for one in measured_rounds(arm)
        for place, (requests, seconds) in enumerate(one.blocks)
        if requests > 0 and seconds > 0
    }


def median_interval(ordered: list[float]) -> tuple[float, float]:
    """Return the sign-test interval of the median of ascending values."""
    count = len(ordered)
    below = int(stats.binom.ppf((1 - CONFIDENCE) / 2, count, 0.5))
    # ppf is the first count whose cumulative probability reaches 2.5 %; the one before stays under.
    while below > 0 and stats.binom.cdf(below - 1, count, 0.5) > (1 - CONFIDENCE) / 2:
        below -= 1
    rank = max(below, 1)
    return ordered[rank - 1], ordered[count - rank]
