# SPDX-License-Identifier: Apache-2.0
"""Growth of a container that begins after the first measured round, or that is seen late."""

from __future__ import annotations

from itertools import accumulate

import pytest
import synthetic_series as made
import verdict_rates as rates
from hypothesis import given, settings
from hypothesis import strategies as st
from synthetic_series import growth, rule

from vllm_soak.verdict.growth import judge_growth
from vllm_soak.verdict.lengths import Growth
from vllm_soak.verdict.outcome import Outcome
from vllm_soak.verdict.series import Series

SEEDS = 300


def late(idle: int, steps: list[float]) -> tuple[str, str] | None:
    """What is said of a container that an unknown growth in round `idle + 1` made visible."""
    values = list(accumulate(steps, initial=50.0))
    series = Series([6000 + 2000 * (idle + n) for n in range(len(values))], values)
    found = judge_growth(Growth(series, first_round=idle + 2, idle=idle + 1))
    return (found.outcome.value, found.rule) if found else None


@pytest.mark.parametrize("rounds", [2, 3, 4])
def test_a_leak_that_begins_late_is_an_open_question_at_first(rounds: int) -> None:
    assert rule([0.0, 0.0, 50.0, *[150.0] * rounds]) == ("inconclusive", "late-growth")
    assert late(1, [150.0] * rounds) == ("inconclusive", "late-growth")


@settings(deadline=None)
@given(st.integers(1, 8), st.integers(5, 12), st.integers(20, 10**6), st.floats(0.01, 1))
def test_a_leak_that_begins_late_is_a_leak_after_five_whole_rounds(
    quiet: int, rounds: int, step: int, part: float
) -> None:
    begins = max(1, round(part * step))
    assert rule([0.0] * quiet + [float(begins)] + [float(step)] * rounds) == ("leak", "late-growth")
    assert late(quiet, [float(step)] * rounds) == ("leak", "late-growth")


def test_a_late_leak_says_since_which_round() -> None:
    found = judge_growth(growth([0.0, 0.0, 50.0, *[150.0] * 5]))
    assert found is not None
    assert "in each of 6 rounds since measured round 3" in found.reason
    series = Series([10_000 + 2000 * n for n in range(6)], [50.0 + 150 * n for n in range(6)])
    found = judge_growth(Growth(series, first_round=4, idle=3))
    assert found is not None
    assert "in each of 6 rounds since measured round 3" in found.reason


def test_growth_that_begins_late_and_stops_is_bounded() -> None:
    assert rule([0.0, 0.0, 500.0, 500.0, 500.0, 0.0]) == ("bounded", "stopped")
    assert rule([0.0, 0.0, 500.0, 0.0, 0.0]) is None


def test_growth_that_begins_late_and_slows_down_is_not_called_a_leak() -> None:
    assert rule([0.0, 9000.0, 6000.0, 4500.0, 3600.0, 3000.0, 2571.0]) == ("inconclusive", "gaps")
    assert late(0, [6000.0, 4500.0, 3600.0, 3000.0, 2571.0]) == ("inconclusive", "gaps")


def test_one_or_two_late_rounds_are_events() -> None:
    assert rule([0.0, 0.0, 0.0, 50.0, 50.0]) is None
    assert late(3, [50.0]) is None
    assert late(4, []) is None


def test_a_known_bound_excuses_late_growth_too() -> None:
    assert rule([0.0, 0.0, *[5000.0] * 7], start=0, bound=65_521) == ("bounded", "known-bound")


@pytest.mark.parametrize("shape", made.LATE_NULLS)
@pytest.mark.parametrize("named_late", [False, True])
def test_no_null_series_that_begins_late_is_ever_a_leak(shape: str, *, named_late: bool) -> None:
    judge = rates.judge_named_late if named_late else rates.judge_lengths
    flagged = [
        seed for seed in range(SEEDS) if rates.looks(rates.lengths(made.LATE_NULLS[shape], seed), judge) is Outcome.LEAK
    ]
    assert flagged == []


def test_a_leak_that_begins_late_is_seen_before_the_last_look() -> None:
    seen = [rates.looks(rates.lengths(made.late_leak, seed), rates.judge_named_late) for seed in range(SEEDS)]
    assert set(seen) == {Outcome.LEAK}
