# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import synthetic_series as made
from hypothesis import given, settings
from hypothesis import strategies as st

from vllm_soak.store.record import Arm
from vllm_soak.verdict.compare import median_interval, throughput_ratio


def blocks(name: str, seconds: list[list[float]]) -> Arm:
    arm = made.arm([1.0] * (len(seconds) + 2), name=name)
    for at, times in enumerate(seconds):
        arm.rounds[at + 2] = replace(arm.rounds[at + 2], blocks=[(500, s) for s in times])
    return arm


def test_blocks_at_the_same_place_are_paired() -> None:
    # The machine slows down tenfold; the second arm is a tenth faster throughout.
    slow = [[1.0, 2.0], [4.0, 8.0], [9.0, 10.0]]
    found = throughput_ratio(blocks("a", slow), blocks("b", [[s / 1.1 for s in r] for r in slow]))
    assert found is not None
    assert (found.median, found.low, found.high) == pytest.approx((1.1, 1.1, 1.1))
    assert found.pairs == 6


def test_a_block_without_its_partner_is_left_out() -> None:
    found = throughput_ratio(blocks("a", [[1.0, 1.0], [1.0, 1.0]]), blocks("b", [[2.0], [1.0, 4.0], [1.0]]))
    assert found is not None
    assert (found.median, found.pairs) == (0.5, 3)
    assert (found.low, found.high) == (0.25, 1.0)


def test_no_pair_no_ratio() -> None:
    assert throughput_ratio(blocks("a", []), blocks("b", [[1.0]])) is None


# Ranks of the 95 % sign-test interval: Conover, Practical Nonparametric Statistics, table of the
# binomial; for example n = 10 gives the 2nd and 9th, n = 20 the 6th and 15th.
@pytest.mark.parametrize(
    ("count", "rank"), [(1, 1), (5, 1), (6, 1), (8, 1), (9, 2), (10, 2), (15, 4), (20, 6), (30, 10)]
)
def test_the_intervals_ranks(count: int, rank: int) -> None:
    ordered = [float(n) for n in range(1, count + 1)]
    assert median_interval(ordered) == (rank, count + 1 - rank)


def test_the_interval_covers_the_median_as_often_as_it_says() -> None:
    rng = np.random.default_rng(7)
    hits = 0
    for _ in range(1000):
        low, high = median_interval(sorted(rng.lognormal(0, 0.3, 30)))
        hits += low <= 1.0 <= high
    assert hits >= 940


@settings(deadline=None)
@given(st.lists(st.floats(0.1, 10), min_size=1, max_size=60))
def test_the_interval_holds_the_median(ratios: list[float]) -> None:
    low, high = median_interval(sorted(ratios))
    assert low <= float(np.median(ratios)) <= high


def test_blocks_of_one_process_are_preferred_to_those_of_two() -> None:
    base, other = Arm("unpatched"), Arm("patched", engine={"switched_blocks": [[100.0, 99.0]] * 9 + [[100.0, 103.0]]})
    found = throughput_ratio(base, other)
    assert found is not None
    assert (found.median, found.pairs) == (0.99, 10)
