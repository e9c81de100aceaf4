# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import synthetic_series as made
import verdict_rates as rates
from hypothesis import given, settings
from hypothesis import strategies as st
from synthetic_series import growth, rule

from vllm_soak.verdict.growth import FEWEST_ENTRIES, judge_growth
from vllm_soak.verdict.lengths import Growth
from vllm_soak.verdict.outcome import Outcome

SEEDS = 300


@pytest.mark.parametrize("shape", made.NULLS)
def test_no_null_series_is_ever_a_leak(shape: str) -> None:
    flagged = [
        seed
        for seed in range(SEEDS)
        if rates.looks(rates.lengths(made.NULLS[shape], seed), rates.judge_lengths) is Outcome.LEAK
    ]
    assert flagged == []


def test_the_reporters_leak_is_seen_after_three_rounds() -> None:
    assert rule([28_000.0] * 3) == ("leak", "steady-growth")


def limited(limit: int, steps: int = 5) -> Growth:
    """100 entries a round from 1,000 on, beside a number that reads like a limit."""
    return replace(growth([100.0] * steps), limit=limit, limit_name="Cache.maxsize")


def test_a_number_that_reads_like_a_limit_keeps_the_answer_open_until_it_is_passed() -> None:
    found = judge_growth(limited(2000))
    assert found is not None
    assert (found.outcome, found.rule) == (Outcome.INCONCLUSIVE, "may-be-bounded")
    assert "Cache.maxsize=2,000 may be its limit" in found.reason
    assert "some 10,020 more requests" in found.settle  # 501 entries at one per 20 requests
    at_limit, passed = judge_growth(limited(1500)), judge_growth(limited(1499))
    assert at_limit is not None
    assert at_limit.outcome is Outcome.INCONCLUSIVE
    assert passed is not None
    assert passed.outcome is Outcome.LEAK


def test_such_a_number_changes_no_other_answer() -> None:
    stopped = judge_growth(replace(growth([100.0, 50.0, 0.0, 0.0, 0.0]), limit=5000, limit_name="Cache.maxsize"))
    assert stopped is not None
    assert (stopped.outcome, stopped.rule) == (Outcome.BOUNDED, "stopped")


@settings(deadline=None)
@given(st.integers(3, 15), st.integers(1000, 10**7), st.integers(0, 10**6))
def test_every_straight_leak_is_a_leak(rounds: int, step: int, start: int) -> None:
    assert rule([float(step)] * rounds, start=start) == ("leak", "steady-growth")


def test_one_entry_per_thousand_requests_is_seen_in_a_long_run() -> None:
    # 5 entries in each of 12 rounds of 5,000 requests; and 20 in each of 5 rounds of 20,000.
    assert rule([5.0] * 12, span=5000) == ("leak", "steady-growth")
    assert rule([20.0] * 5, span=20_000) == ("leak", "steady-growth")
    assert rule([4.0] * 3, span=5000) == ("inconclusive", "uneven-growth")


def test_a_leak_at_random_is_mostly_seen_and_never_cleared() -> None:
    seen = [rates.looks(rates.slow_leak(np.random.default_rng(seed), 20), rates.judge_lengths) for seed in range(SEEDS)]
    assert seen.count(Outcome.LEAK) > 0.95 * SEEDS
    assert set(seen) <= {Outcome.LEAK, Outcome.INCONCLUSIVE}


def test_a_leak_beside_a_decoy_is_told_from_it() -> None:
    decoy = [9000.0, 6000.0, 3000.0, 500.0, 20.0]
    assert rule([100.0] * 5) == ("leak", "steady-growth")
    assert rule(decoy) == ("inconclusive", "slowing")
    assert rule([*decoy, 0.0]) == ("bounded", "stopped")


def test_a_known_bound_not_passed_is_a_cache_filling() -> None:
    assert rule([5000.0] * 5, start=0, bound=65_521) == ("bounded", "known-bound")
    assert rule([5000.0] * 5, start=0, bound=25_000) == ("bounded", "known-bound")


def test_what_comes_and_goes_below_its_bound_is_no_suspect() -> None:
    assert rule([61.0, 273.0, -120.0, 60.0, 12.0], start=65, bound=1000) is None
    assert rule([6.0, 3.0, 4.0], start=1_975, bound=2_000) is None, "full"
    assert rule([28.0, -30.0, 45.0, -37.0, 24.0], start=1_954, bound=2_000) is None, (
        "full, and a little more so each time"
    )
    assert rule([6.0, 3.0, 4.0], start=975, bound=2_000) == ("bounded", "known-bound")
    assert rule([2_000.0, 400.0, -3.0, 2.0, -1.0], start=0, bound=2_400) == ("bounded", "known-bound"), "it was filled"


def test_a_known_bound_that_was_passed_does_not_excuse() -> None:
    assert rule([5000.0] * 5, start=0, bound=24_999) == ("leak", "steady-growth")


@pytest.mark.parametrize("steps", [[500.0, 0.0], [500.0, 200.0, 0.0, 0.0], [9000.0, 9000.0, 9000.0, 9000.0, 0.0]])
def test_what_grew_and_stopped_is_bounded(steps: list[float]) -> None:
    assert rule(steps) == ("bounded", "stopped")


@pytest.mark.parametrize(
    "steps",
    [
        [],
        [0.0] * 5,
        [FEWEST_ENTRIES - 1.0, 0.0, 0.0],
        [1.0] * (FEWEST_ENTRIES - 1),
        [-10.0, -10.0, -10.0],
        [500.0, -1.0, 500.0],
        [100.0, 0.0, 0.0, 100.0],
    ],
    ids=["one point", "flat", "few", "few in each", "falling", "emptied", "gaps"],
)
def test_no_suspect(steps: list[float]) -> None:
    assert rule(steps) is None


def test_two_rounds_are_too_few() -> None:
    assert rule([28_000.0] * 2) == ("inconclusive", "too-few-rounds")


def test_growth_in_nearly_every_round_asks_for_larger_rounds() -> None:
    found = judge_growth(growth([50.0, 50.0, 0.0, 50.0, 50.0]))
    assert found is not None
    assert (found.outcome, found.rule) == (Outcome.INCONCLUSIVE, "gaps")
    assert "--num-prompts" in found.settle


def test_uneven_growth_asks_for_more_rounds() -> None:
    found = judge_growth(growth([10.0, 4000.0, 30.0, 9000.0, 10.0]))
    assert found is not None
    assert (found.outcome, found.rule) == (Outcome.INCONCLUSIVE, "uneven-growth")
    assert found.settle


def test_a_trickle_at_the_end_of_a_fill_does_not_hold_the_answer_up() -> None:
    assert rule([500.0, 30.0, 1.0, 1.0, 1.0]) is None


@settings(deadline=None)
@given(st.lists(st.integers(0, 10**6), min_size=3, max_size=12), st.integers(1, 6))
def test_a_leak_has_no_gap_in_its_last_six_rounds(steps: list[int], back: int) -> None:
    steps[-min(back, len(steps))] = 0
    found = judge_growth(growth([float(s) for s in steps]))
    assert found is None or found.outcome is not Outcome.LEAK


@settings(deadline=None)
@given(st.lists(st.integers(-(10**6), 10**6), max_size=12), st.none() | st.integers(0, 10**6))
def test_any_series_gets_an_answer_with_a_reason(steps: list[int], bound: int | None) -> None:
    found = judge_growth(growth([float(s) for s in steps], bound=bound))
    assert found is None or (found.rule and found.reason and not found.reason.endswith("."))
    if found and found.outcome is Outcome.INCONCLUSIVE:
        assert found.settle


@pytest.mark.parametrize(("seconds", "outcome"), [(1800.0, Outcome.INCONCLUSIVE), (1801.0, Outcome.LEAK)])
def test_what_may_be_emptied_by_age_is_open_until_the_run_is_older(seconds: float, outcome: Outcome) -> None:
    found = judge_growth(replace(growth([100.0] * 5), age=1800.0, age_name="Sessions.ttl", seconds=seconds))
    assert found is not None
    assert found.outcome is outcome
    if outcome is Outcome.INCONCLUSIVE:
        assert found.rule == "may-be-bounded"
        assert "Sessions.ttl=1,800 may be the age in seconds" in found.reason
        assert "--duration" in found.settle


def test_few_requests_a_round_that_each_leave_as_many_entries_are_a_leak() -> None:
    assert rule([8] * 5, span=8) == ("leak", "steady-growth")
    assert rule([16] * 5, span=8) == ("leak", "steady-growth")


@pytest.mark.parametrize("steps", [[8] * 4, [8, 8, 7, 8, 8], [4] * 5, [12] * 5], ids=str)
def test_few_requests_a_round_tell_nothing_when_entries_are_not_exactly_theirs(steps: list[float]) -> None:
    found = rule(steps, span=8)
    assert found is not None
    assert found[0] == "inconclusive"
