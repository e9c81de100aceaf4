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


def test_a_full_cache_that_comes_and_goes_does_not_prolong_it() -> None:
    assert not unsettled(warming(600, 1_200, 997, 999, bound=1_000))
    assert not unsettled(warming(600, 980, 940, 985, bound=1_000)), "it was longer by less than a hundredth"


def test_a_handful_of_entries_does_not_prolong_it() -> None:
    assert not unsettled(warming(2, 11, 13)), "nine, then two"


MIB = 1 << 20


def test_memory_that_grows_ever_less_prolongs_it() -> None:
    grown = made.arm([0.0, 8.0 * MIB, 10.0 * MIB], warm_ups=3)
    assert unsettled(grown) == f"memory of {made.PROCESS} is growing more slowly than before"
    assert not unsettled(made.arm([0.0, 8.0 * MIB, 10.0 * MIB, 10.5 * MIB], warm_ups=4)), "half a MiB is not waited for"
    assert not unsettled(made.arm([0.0, 8.0 * MIB, 16.0 * MIB], warm_ups=3)), "a leak at its full rate"


def test_memory_of_a_leaking_container_does_not_prolong_it() -> None:
    ids = [1e6, 2e6, 2.6e6]
    arm = made.arm([8 * n for n in ids], [made.Container([1e6, 2e6, 3e6], PATH)], warm_ups=3)
    assert not unsettled(arm)
