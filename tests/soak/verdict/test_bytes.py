# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import numpy as np
import pytest
import synthetic_series as made
import verdict_rates as rates
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from vllm_soak.verdict.bytes import FLOOR_TOTAL, PAGE, detectable, judge_bytes, slope, without
from vllm_soak.verdict.outcome import Outcome
from vllm_soak.verdict.series import Series

SEEDS = 200
NOISE = 0.002


def series(values: list[float]) -> Series:
    return Series([4000 + 2000 * n for n in range(len(values))], values)


@settings(deadline=None)
@given(st.lists(st.floats(1e6, 1e9), min_size=4, max_size=20, unique=True))
def test_the_slope_is_that_of_least_squares(values: list[float]) -> None:
    found = slope(series(values))
    theirs = stats.linregress([r / 1000 for r in series(values).requests], values)
    assert found is not None
    assert found.per_thousand == pytest.approx(theirs.slope, rel=1e-6, abs=1)
    margin = stats.t.ppf(0.975, len(values) - 2) * theirs.stderr
    assert found.high - found.low == pytest.approx(2 * margin, rel=1e-6, abs=1)


def test_a_flat_series_has_a_slope_of_nothing_and_a_page_can_hide() -> None:
    flat = series([5e8] * 6)
    found = slope(flat)
    assert found is not None
    assert (found.per_thousand, found.low, found.high) == (0.0, 0.0, 0.0)
    assert detectable(flat) == PAGE / 10


@pytest.mark.parametrize("values", [[], [1.0], [1.0, 2.0]])
def test_no_slope_without_a_degree_of_freedom(values: list[float]) -> None:
    assert slope(series(values)) is None
    assert detectable(series(values)) is None
    assert judge_bytes(series(values)) is None


def test_the_interval_covers_the_truth_as_often_as_it_says() -> None:
    rng = np.random.default_rng(1)
    hits = 0
    for _ in range(1000):
        noisy = series([float(v) for v in 5e8 + 2e6 * np.arange(6) + rng.normal(0, 1e5, 6)])
        found = slope(noisy)
        assert found is not None
        hits += found.low <= 1e6 <= found.high
    assert 930 <= hits <= 970


def outcomes(shape: str) -> list[Outcome]:
    return [rates.looks(rates.in_use(made.NULLS[shape], s, NOISE), rates.judge_in_use) for s in range(SEEDS)]


@pytest.mark.parametrize("shape", made.NULLS)
def test_false_alarms_stay_rare(shape: str) -> None:
    # docs/verdict.md has the measured rates; unbounded growth with the square root is the worst.
    allowed = 0.05 if shape == "root growth" else 0.025
    assert outcomes(shape).count(Outcome.LEAK_NATIVE) <= allowed * SEEDS


def test_a_leak_that_stands_out_of_the_noise_is_seen() -> None:
    levels = [rates.leaking_bytes(np.random.default_rng(s), 0.0005) for s in range(SEEDS)]
    seen = [rates.looks(level, rates.judge_in_use) for level in levels]
    assert seen.count(Outcome.LEAK_NATIVE) >= 0.98 * SEEDS


def test_four_rounds_are_too_few_for_a_claim() -> None:
    found = judge_bytes(series([5e8 + 1e6 * n for n in range(5)]))
    assert found is not None
    assert (found.outcome, found.rule) == (Outcome.INCONCLUSIVE, "few-bytes")
    found = judge_bytes(series([5e8 + 1e6 * n for n in range(6)]))
    assert found is not None
    assert (found.outcome, found.rule) == (Outcome.LEAK_NATIVE, "native-growth")


def test_growth_below_two_heap_extensions_is_a_step() -> None:
    step = (FLOOR_TOTAL - 1) / 5
    assert judge_bytes(series([5e8 + step * n for n in range(6)])) is None


def test_growth_that_slows_is_an_open_question() -> None:
    found = judge_bytes(series([float(v) for v in 5e8 + 1e7 * np.log(np.arange(2, 12))]))
    assert found is not None
    assert (found.outcome, found.rule) == (Outcome.INCONCLUSIVE, "slowing-bytes")
    assert found.settle


def test_a_long_lists_buffer_moves_too_seldom_for_bytes_to_prove_a_leak() -> None:
    # 40 rounds of ids before the first point: each further round adds 2.5 %, a step is 12.5 %.
    levels = made.steps_of_an_eighth(made.straight(np.random.default_rng(0), 60) * 28_000 * 8)
    for points in range(6, 17):
        held = [float(v) for v in 5e8 + levels[40 : 40 + points]]
        assert held[0] < held[-1]
        assert judge_bytes(series(held)) is None


def test_what_containers_explain_does_not_count() -> None:
    named = [1e6 * n for n in range(6)]
    rest = without(series([5e8 + n for n in named]), named)
    assert judge_bytes(rest) is None
