# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from dataclasses import replace

import pytest
import synthetic_series as made
from hypothesis import given, settings
from hypothesis import strategies as st

from vllm_soak.store.record import Arm
from vllm_soak.verdict.series import walked_rounds
from vllm_soak.verdict.track import compared_rounds, tracks


def named(arm: Arm) -> list[str]:
    return [track.rows[0].path for track in tracks(arm, made.PROCESS)]


def late_arm(first: int, lengths: list[float], grown: int | None = None) -> Arm:
    """An arm whose container is first named after round `first`, with two warm-up rounds before."""
    arm = made.arm([0] * len(lengths), [made.Container(lengths)])
    arm.populations[:] = [p for p in arm.populations if p.round >= first]
    arm.populations[0] = replace(arm.populations[0], grown=grown)
    return arm


def test_a_container_named_since_warm_up_has_a_point_for_every_round() -> None:
    [track] = tracks(made.arm([0] * 6, [made.Container([1, 2, 3, 4, 5, 6])]), made.PROCESS)
    assert track.series.values == [2.0, 3.0, 4.0, 5.0, 6.0]
    assert (track.first_round, track.idle) == (1, 0)


def test_one_named_after_the_first_measured_round_grew_in_it_by_an_unknown_amount() -> None:
    [track] = tracks(late_arm(2, [1, 2, 3, 4, 5, 6]), made.PROCESS)
    assert track.series.values == [3.0, 4.0, 5.0, 6.0]
    assert (track.first_round, track.idle) == (2, 1)


@pytest.mark.parametrize("grown", [None, 1])
def test_one_that_did_not_grow_in_the_last_warm_up_round_began_late(grown: int | None) -> None:
    [track] = tracks(late_arm(2, [2, 2, 3, 4, 5, 6], grown), made.PROCESS)
    assert (track.series.values, track.first_round, track.idle) == ([3.0, 4.0, 5.0, 6.0], 2, 1)


def test_with_one_warm_up_round_what_the_first_measured_one_names_may_always_have_grown() -> None:
    arm = made.arm([0] * 5, [made.Container([10, 20, 30, 40, 50])], warm_ups=1)
    arm.populations[:] = arm.populations[1:]
    [track] = tracks(arm, made.PROCESS)
    assert (track.series.values, track.first_round, track.idle) == ([20.0, 30.0, 40.0, 50.0], 2, 0)
    arm.populations[0] = replace(arm.populations[0], grown=10)
    [track] = tracks(arm, made.PROCESS)
    assert (track.series.values, track.first_round, track.idle) == ([10.0, 20.0, 30.0, 40.0, 50.0], 1, 0)


def test_what_no_census_named_did_not_grow() -> None:
    [track] = tracks(late_arm(4, [0, 0, 0, 0, 50, 200, 350, 500]), made.PROCESS)
    assert track.series.values == [50.0, 200.0, 350.0, 500.0]
    assert (track.first_round, track.idle) == (4, 3)


def cut_at(arm: Arm, *rounds: int) -> Arm:
    """The same arm with censuses that left out some containers that grew."""
    left = "13 containers that grew less than the 200 listed were not named"
    arm.censuses[:] = [replace(one, partial=left) if one.round in rounds else one for one in arm.censuses]
    return arm


@pytest.mark.parametrize(
    ("rounds", "values", "first", "idle"),
    [
        ((1, 2, 3), [45.0, 60.0, 75.0, 90.0, 105.0], 3, 0),
        ((2,), [45.0, 45.0, 60.0, 75.0, 90.0, 105.0], 2, 0),
        ((5,), [45.0, 45.0, 45.0, 60.0, 75.0, 90.0, 105.0], 1, 0),
    ],
)
def test_nothing_is_known_of_rounds_before_a_census_that_left_some_out(
    rounds: tuple[int, ...], values: list[float], first: int, idle: int
) -> None:
    arm = cut_at(late_arm(4, [0, 15, 30, 45, 60, 75, 90, 105], grown=15), *rounds)
    [track] = tracks(arm, made.PROCESS)
    assert (track.series.values, track.first_round, track.idle) == (values, first, idle)


def test_what_a_cut_census_may_have_left_out_did_not_begin_late() -> None:
    lengths = [15.0 * at for at in range(9)]
    [late] = tracks(late_arm(4, lengths), made.PROCESS)
    [open_] = tracks(cut_at(late_arm(4, lengths), 1, 2, 3), made.PROCESS)
    assert (late.idle, open_.idle) == (3, 0)


def test_what_it_gained_in_the_first_round_says_how_long_it_was_before() -> None:
    [track] = tracks(late_arm(4, [5, 5, 5, 5, 55, 205], grown=50), made.PROCESS)
    assert track.series.values == [5.0, 5.0, 5.0, 55.0, 205.0]
    assert track.series.requests == [4000, 6000, 8000, 10_000, 12_000]
    assert (track.first_round, track.idle) == (1, 0)


def test_an_empty_container_may_not_have_been_there() -> None:
    [track] = tracks(late_arm(4, [0, 0, 0, 0, 50, 200], grown=50), made.PROCESS)
    assert track.series.values == [50.0, 200.0]
    assert track.idle == 3


def test_the_first_census_is_what_others_are_compared_with() -> None:
    arm = made.arm([0] * 4, warm_ups=0)
    assert [r.index for r in walked_rounds(arm, made.PROCESS)] == [0, 1, 2, 3]
    assert [r.index for r in compared_rounds(arm, made.PROCESS)] == [1, 2, 3]
    assert [r.index for r in compared_rounds(made.arm([0] * 4, warm_ups=1), made.PROCESS)] == [1, 2, 3]


def test_without_warm_up_what_the_second_round_names_was_there_before() -> None:
    arm = made.arm([0] * 5, [made.Container([10, 20, 30, 40, 50])], warm_ups=0)
    arm.populations[:] = arm.populations[1:]
    [track] = tracks(arm, made.PROCESS)
    assert (track.series.values, track.idle) == ([20.0, 30.0, 40.0, 50.0], 0)


def test_one_census_alone_names_nothing() -> None:
    arm = made.arm([0] * 5, [made.Container([1, 2, 3, 4, 5])])
    arm.censuses[:] = arm.censuses[:1]
    assert tracks(arm, made.PROCESS) == []
    assert tracks(arm, "another") == []


def test_a_container_that_the_last_census_does_not_have_is_left_out() -> None:
    arm = made.arm([0] * 6, [made.Container([1, 2, 3, 4, 5, 6], path) for path in ("gone", "stays")])
    arm.populations[:] = [p for p in arm.populations if p.path != "gone" or p.round <= 4]
    assert named(arm) == ["stays"]


def test_a_round_that_was_not_walked_has_no_point() -> None:
    arm = made.arm([0] * 6, [made.Container([1, 2, 3, 4, 5, 6])])
    last = arm.censuses.pop()
    arm.populations[:] = [p for p in arm.populations if p.round != last.round]
    [track] = tracks(arm, made.PROCESS)
    assert track.series.values == [2.0, 3.0, 4.0, 5.0]


@settings(deadline=None)
@given(
    st.lists(st.integers(0, 500), min_size=5, max_size=12),
    st.integers(0, 4),
    st.integers(0, 3),
    st.none() | st.integers(1, 1000),
)
def test_every_measured_round_is_accounted_for(steps: list[int], first: int, warm_ups: int, grown: int | None) -> None:
    lengths = [1000.0 + sum(steps[: n + 1]) for n in range(len(steps))]
    arm = made.arm([0] * len(steps), [made.Container(lengths)], warm_ups=warm_ups)
    arm.populations[:] = [p for p in arm.populations if p.round >= first]
    arm.populations[0] = replace(arm.populations[0], grown=grown)
    for track in tracks(arm, made.PROCESS):
        after = len(track.series.growth)
        compared = len(compared_rounds(arm, made.PROCESS))
        told = after + track.idle + (track.idle > 0)
        assert compared - 1 <= told <= compared + (warm_ups > 1)
        assert track.first_round + after - 1 == len(steps) - warm_ups
        assert track.series.requests == sorted(set(track.series.requests))
