# SPDX-License-Identifier: Apache-2.0
"""Warm-up ends when growth has stopped changing its shape, whatever it is."""

from __future__ import annotations

import pytest
import synthetic_series as made

from vllm_soak.store.record import Arm
from vllm_soak.verdict.steady import unsettled

PATH = "engine.scheduler.ids"


def warming(*lengths: float, bound: int | None = None) -> Arm:
    containers = [made.Container(lengths, PATH, bound=bound)]
    return made.arm([5e8] * len(lengths), containers, warm_ups=len(lengths))


@pytest.mark.parametrize("done", [1, 2])
def test_three_rounds_are_the_least(done: int) -> None:
    assert unsettled(warming(*[100.0] * done)) == f"{done} of at least 3 warm-up rounds done"


def test_what_does_not_grow_is_steady() -> None:
    assert not unsettled(warming(50, 50, 50))


def test_a_leak_at_its_full_rate_does_not_prolong_warm_up() -> None:
    assert not unsettled(warming(8_400, 16_800, 25_200))


def test_slowing_growth_prolongs_it() -> None:
    assert unsettled(warming(100, 200, 250)) == f"{made.PROCESS} {PATH} is growing more slowly than in the round before"
    assert not unsettled(warming(100, 200, 250, 300))


def test_a_cache_below_its_bound_prolongs_it_until_full() -> None:
    assert unsettled(warming(600, 1_200, 1_800, bound=2_000)) == f"{PATH} is filling towards its bound"
    assert not unsettled(warming(600, 1_200, 1_800, 2_000, 2_000, bound=2_000))


def test_a_container_named_for_the_first_time_has_no_growth_yet() -> None:
    arm = warming(8_400, 16_800, 25_200)
    del arm.populations[:2]
    assert not unsettled(arm)
