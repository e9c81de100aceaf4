# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import numpy as np
import pytest
import synthetic_series as made
import verdict_rates as rates
from hypothesis import given, settings
from hypothesis import strategies as st

from vllm_soak.verdict.growth import judge_growth
from vllm_soak.verdict.lengths import Growth
from vllm_soak.verdict.outcome import Outcome
from vllm_soak.verdict.series import Series
from vllm_soak.verdict.waves import TELLING_ROUNDS, climbs, risen

SEEDS = 300


def outcomes(widest: float, leak: float) -> list[Outcome]:
    levels = [rates.beneath_waves(np.random.default_rng(seed), widest, leak) for seed in range(SEEDS)]
    return [rates.looks(one, rates.judge_lengths) for one in levels]


def series(values: list[float]) -> Series:
    return Series([4000 + 2000 * n for n in range(len(values))], values)


@pytest.mark.parametrize("widest", [2, 3])
def test_a_leak_beneath_larger_waves_is_not_acquitted(widest: float) -> None:
    seen = outcomes(widest, 1)
    assert seen.count(Outcome.NO_LEAK) < 0.15 * SEEDS


def test_waves_alone_are_no_suspect_and_never_a_leak() -> None:
    assert set(outcomes(3, 0)) == {Outcome.NO_LEAK}


@pytest.mark.parametrize("shape", ["AR(1) noise", "random walk", "warm-up", "steps then flat", "sawtooth"])
def test_few_that_come_and_go_are_left_open(shape: str) -> None:
    seen = [rates.looks(rates.lengths(made.NULLS[shape], seed), rates.judge_lengths) for seed in range(SEEDS)]
    assert Outcome.LEAK not in seen
    assert seen.count(Outcome.INCONCLUSIVE) <= 0.03 * SEEDS


def test_the_reason_tells_by_how_much_the_later_rounds_lie_higher() -> None:
    values = [10.0 * at + (15 if at % 2 else 0) for at in range(TELLING_ROUNDS + 1)]
    found = judge_growth(Growth(series(values)))
    assert found is not None
    assert (found.outcome, found.rule) == (Outcome.INCONCLUSIVE, "rises-in-waves")
    assert f"{risen(series(values)):,.0f} entries above" in found.reason


def test_a_limit_that_is_known_and_kept_answers_first() -> None:
    values = [10.0 * at + (15 if at % 2 else 0) for at in range(TELLING_ROUNDS + 1)]
    found = judge_growth(Growth(series(values), bound=1000))
    assert found is not None
    assert found.outcome is Outcome.BOUNDED


def test_a_step_and_a_fill_that_slows_down_do_not_climb() -> None:
    step = [1.0, 0.0] * 4 + [101.0, 100.0] * 4
    fills = [100 * (1 - 0.6**at) - (2 if at % 2 else 0) for at in range(16)]
    assert not climbs(series(step))
    assert not climbs(series(fills))


@settings(deadline=None)
@given(st.lists(st.integers(0, 100), max_size=20))
def test_any_series_gets_an_answer(values: list[int]) -> None:
    assert climbs(series([float(one) for one in values])) in {True, False}
