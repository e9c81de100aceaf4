# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from vllm_soak.workloads.spread import DETAIL, FATE, PART, Spread

dimensions = st.sampled_from([PART, FATE, DETAIL])
seeds = st.integers(0, 1 << 30)


@settings(deadline=None)
@given(seeds, st.integers(0, 1 << 40), dimensions)
def test_numbers_are_shares_and_repeat(seed: int, index: int, dimension: int) -> None:
    number = Spread(seed).at(index, dimension)
    assert 0 <= number < 1
    assert number == Spread(seed).at(index, dimension)


@settings(deadline=None)
@given(seeds, st.integers(0, 1 << 40), st.integers(1, 2000), st.floats(0, 1), dimensions)
def test_every_stretch_meets_every_share_within_a_few(
    seed: int, first: int, count: int, share: float, dimension: int
) -> None:
    spread = Spread(seed)
    hits = sum(spread.at(index, dimension) < share for index in range(first, first + count))
    # A coin would be off by 20 and more in 2,000.
    assert abs(hits - share * count) <= 6


@settings(deadline=None)
@given(seeds, st.integers(0, 1 << 40), st.floats(0, 1), st.floats(0, 1))
def test_choices_do_not_go_together(seed: int, first: int, one: float, other: float) -> None:
    spread = Spread(seed)
    for left, right in ((PART, FATE), (PART, DETAIL), (FATE, DETAIL)):
        both = sum(spread.at(i, left) < one and spread.at(i, right) < other for i in range(first, first + 2000))
        assert abs(both - one * other * 2000) <= 20


def test_seeds_differ() -> None:
    assert Spread(1).at(0, PART) != Spread(2).at(0, PART)
