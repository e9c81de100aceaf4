# SPDX-License-Identifier: Apache-2.0
"""A process whose leak, or whose censuses, begin late."""

from __future__ import annotations

import pytest
import synthetic_series as made

from vllm_soak.store.record import Arm
from vllm_soak.verdict.outcome import Outcome, ProcessVerdict
from vllm_soak.verdict.process import judge_process

LEAK = "engine.scheduler.single_type_managers[0].new_block_ids"


def lengths(step: float, points: int = 7) -> list[float]:
    return [step * n for n in range(1, points + 1)]


def verdict(arm: Arm) -> ProcessVerdict:
    return judge_process(arm, made.PROCESS)


def without_first_census(arm: Arm) -> Arm:
    """A run whose censuses begin with its first measured round: that one names nothing."""
    first = arm.censuses[0].round
    arm.populations[:] = [p for p in arm.populations if p.round > first]
    return arm


def test_without_a_baseline_a_leak_is_not_cleared() -> None:
    arm = without_first_census(made.arm([5e8] * 3, [made.Container(lengths(28_000, 3), LEAK)], warm_ups=0))
    found = verdict(arm)
    assert (found.outcome, found.rule) == (Outcome.INCONCLUSIVE, "no-baseline")
    assert "no baseline before the measured rounds" in found.reason
    assert "warm-up" in found.settle


@pytest.mark.parametrize(("rounds", "rule"), [(3, "no-baseline"), (4, "nothing-grew")])
def test_three_compared_rounds_clear_a_process(rounds: int, rule: str) -> None:
    found = verdict(made.arm([5e8] * rounds, warm_ups=0))
    assert found.rule == rule


def test_without_a_baseline_a_leak_is_named_once_enough_rounds_were_compared() -> None:
    arm = without_first_census(made.arm([5e8] * 5, [made.Container(lengths(28_000, 5), LEAK)], warm_ups=0))
    found = verdict(arm)
    assert (found.outcome, found.rule) == (Outcome.LEAK, "steady-growth")
    assert found.suspects[0].growth == [28_000] * 3


def late(measured: int, begins: int = 4) -> Arm:
    """Three warm-up rounds; 50 entries in round `begins`, then 150 a round; named once it has grown."""
    rounds = 3 + measured
    lengths_now = [0.0 if n < begins else 50.0 + 150 * (n - begins) for n in range(rounds)]
    arm = made.arm([5e8] * rounds, [made.Container(lengths_now)], warm_ups=3)
    arm.populations[:] = [p for p in arm.populations if p.round >= begins]
    return arm


def test_a_leak_that_begins_after_the_first_measured_round_is_not_cleared() -> None:
    found = verdict(late(5))
    assert (found.outcome, found.rule) == (Outcome.INCONCLUSIVE, "late-growth")
    assert "since measured round 2" in found.reason
    assert "--max-rounds" in found.settle


def test_more_rounds_show_that_it_is_a_leak() -> None:
    found = verdict(late(7))
    assert (found.outcome, found.rule) == (Outcome.LEAK, "late-growth")
    assert "since measured round 2" in found.reason


def test_a_leak_that_begins_in_the_first_measured_round_is_a_leak_in_the_end() -> None:
    assert verdict(late(5, begins=3)).outcome is Outcome.INCONCLUSIVE
    assert verdict(late(6, begins=3)).rule == "late-growth"


def test_one_that_begins_in_the_last_two_rounds_is_a_blind_spot() -> None:
    found = verdict(late(5, begins=6))
    assert found.outcome is Outcome.NO_LEAK
    assert any("begins in the last 2 measured rounds" in spot for spot in found.blind_spots)
