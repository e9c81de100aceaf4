# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vllm_soak.verdict.pace import pace
from vllm_soak.verdict.series import Series


def series(growth: list[float], start: int = 4000, span: int = 2000) -> Series:
    values = np.concatenate([[0.0], np.cumsum(growth)])
    return Series([start + span * n for n in range(len(values))], [float(v) for v in values])


@settings(deadline=None)
@given(st.integers(3, 40), st.integers(1000, 10**9), st.integers(0, 20), st.integers(1, 10**5))
def test_equal_growth_keeps_its_pace(rounds: int, step: int, warm_ups: int, span: int) -> None:
    found = pace(series([float(step)] * rounds, warm_ups * span, span), quantum=1)
    assert found is not None
    assert found.steady
    assert found.ratio == pytest.approx(1)


@settings(deadline=None)
@given(st.integers(3, 40), st.integers(1, 20), st.floats(1e3, 1e9))
def test_logarithmic_growth_never_does(rounds: int, warm_ups: int, scale: float) -> None:
    places = np.arange(warm_ups, warm_ups + rounds + 1) * 2000.0
    values = [float(v) for v in scale * np.log(places)]
    found = pace(Series([int(p) for p in places], values), quantum=1)
    assert found is None or not found.steady


@settings(deadline=None)
@given(st.integers(3, 40), st.floats(0.3, 6.0))
def test_a_cache_that_fills_exponentially_never_does(rounds: int, constant: float) -> None:
    levels = 1e6 * (1 - np.exp(-np.arange(2, rounds + 3) / constant))
    found = pace(series([float(g) for g in np.diff(levels)]), quantum=1)
    assert found is None or not found.steady


def test_unequal_rounds_are_compared_per_request() -> None:
    requests = [4000, 5000, 9000, 10_000, 16_000]
    found = pace(Series(requests, [14.0 * r for r in requests]), quantum=1)
    assert found is not None
    assert found.ratio == pytest.approx(1)
    assert found.steady


def test_the_line_is_half_way_between_steady_and_logarithmic() -> None:
    found = pace(series([10.0] * 3, start=1000, span=1000), quantum=1)
    assert found is not None
    assert found.line == pytest.approx((1 + 1500 / 3500) / 2)


@pytest.mark.parametrize("step", [1.0, 2.0])
def test_a_few_equal_small_numbers_prove_nothing(step: float) -> None:
    found = pace(series([step] * 5), quantum=1)
    assert found is not None
    assert not found.steady


@pytest.mark.parametrize("growth", [[5.0, 5.0], [], [0.0, 0.0, 0.0], [-5.0, -5.0, -5.0]])
def test_nothing_to_compare(growth: list[float]) -> None:
    assert pace(series(growth), quantum=1) is None


def test_points_without_work_between_them_have_no_pace() -> None:
    assert pace(Series([1, 1, 2, 3], [1.0, 2.0, 3.0, 4.0]), quantum=1) is None
