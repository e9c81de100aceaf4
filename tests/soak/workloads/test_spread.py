# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from vllm_soak.workloads.spread import Spread

keys = st.text(max_size=8)


@settings(deadline=None)
@given(keys, st.integers(0, 1 << 40))
def test_numbers_are_shares_and_repeat(key: str, count: int) -> None:
    number = Spread(key).at(count)
    assert 0 <= number < 1
    assert number == Spread(key).at(count)


@settings(deadline=None)
@given(keys, st.integers(0, 1 << 40), st.integers(1, 2000), st.floats(0, 1), st.floats(0, 1))
def test_every_stretch_meets_every_share_within_a_few(key: str, first: int, count: int, one: float, two: float) -> None:
    spread = Spread(key)
    low, high = sorted((one, two))
    hits = sum(low <= spread.at(number) < high for number in range(first, first + count))
    # A coin would be off by 20 and more in 2,000.
    assert abs(hits - (high - low) * count) <= 6


def test_keys_differ() -> None:
    assert Spread("1").at(0) != Spread("2").at(0)
