# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from dataclasses import replace
from itertools import accumulate

import synthetic_series as made
from hypothesis import given, settings
from hypothesis import strategies as st

from vllm_soak.store.record import MEASURED
from vllm_soak.verdict.process import judge_process
from vllm_soak.verdict.series import (
    Series,
    byte_series,
    judged_rounds,
    measured_rounds,
    processes,
    series_of,
    walked_rounds,
)


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(1, 10_000), st.integers(-1000, 1000)), min_size=1, max_size=20))
def test_growth_and_spans_add_up_to_the_whole(moves: list[tuple[int, int]]) -> None:
    requests, values = [0], [0.0]
    for work, grown in moves:
        requests.append(requests[-1] + work)
        values.append(values[-1] + grown)
    series = Series(requests, values)
    assert sum(series.growth) == series.total
    assert sum(series.spans) == series.work
    assert all(a < m < b for a, m, b in zip(requests, series.middles, requests[1:], strict=False))


def test_an_empty_series_grew_by_nothing() -> None:
    assert (Series([], []).total, Series([], []).work, Series([], []).growth) == (0.0, 0, [])


def test_the_series_starts_at_the_end_of_warm_up() -> None:
    arm = made.arm([10, 20, 30, 40, 50], warm_ups=3)
    assert [r.index for r in judged_rounds(arm)] == [2, 3, 4]
    assert byte_series(arm, made.PROCESS) == Series([6000, 8000, 10_000], [30.0, 40.0, 50.0])


def test_without_warm_up_the_first_measured_round_is_the_first_point() -> None:
    arm = made.arm([10, 20, 30], warm_ups=0)
    assert [r.index for r in judged_rounds(arm)] == [0, 1, 2]


def test_a_round_cut_short_is_left_out() -> None:
    arm = made.arm([1.0] * 6)
    arm.rounds[-1] = replace(arm.rounds[-1], requests=1200)
    assert [r.index for r in measured_rounds(arm)] == [2, 3, 4]
    arm.rounds[-1] = replace(arm.rounds[-1], requests=1990)
    assert [r.index for r in measured_rounds(arm)] == [2, 3, 4, 5]


def test_a_sample_without_its_round_is_the_tail_of_a_crash() -> None:
    arm = made.arm([1.0, 2.0, 3.0, 400.0])
    del arm.rounds[-1]
    assert byte_series(arm, made.PROCESS).values == [2.0, 3.0]


def test_a_value_that_could_not_be_read_leaves_its_point_out() -> None:
    arm = made.arm([1.0, 2.0, 3.0, 4.0])
    del arm.samples[2].values["in_use"]
    assert byte_series(arm, made.PROCESS).values == [2.0, 4.0]


def test_only_rounds_with_a_census_are_walked() -> None:
    arm = made.arm([0] * 6)
    arm.censuses.pop()
    assert [r.index for r in walked_rounds(arm, made.PROCESS)] == [1, 2, 3, 4]


def test_processes_in_order_of_appearance() -> None:
    arm = made.arm([1.0, 2.0])
    arm.samples.insert(0, replace(arm.samples[0], process="APIServer", phase=MEASURED))
    assert processes(arm) == ["APIServer", made.PROCESS]


def test_of_several_readings_at_one_number_of_requests_the_last_counts() -> None:
    assert series_of([(10, 1.0), (20, 2.0), (20, 3.0), (30, 4.0)]) == Series([10, 20, 30], [1.0, 3.0, 4.0])


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 2), st.integers(-20, 40)), min_size=5, max_size=14), st.integers(0, 3))
def test_readings_at_one_number_of_requests_are_judged(moves: list[tuple[int, int]], named_from: int) -> None:
    """As of a server with next to no load, whose censuses may all fall between two requests."""
    arm = made.arm([0] * len(moves), [made.Container(list(accumulate(grown for _, grown in moves)))])
    totals = list(accumulate(done for done, _ in moves))
    arm.populations[:] = [replace(row, requests=totals[row.round]) for row in arm.populations[named_from:]]
    arm.samples[:] = [replace(row, requests=totals[row.round]) for row in arm.samples]
    assert judge_process(arm, made.PROCESS).reason
