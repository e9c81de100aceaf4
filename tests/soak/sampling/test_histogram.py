# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vllm_soak.sampling.histogram import BOUNDS, HIGHEST, LOWEST, Histogram, merge_snapshots, quantile

durations = st.lists(st.floats(LOWEST, HIGHEST), min_size=1, max_size=200)


def recorded(values: list[float]) -> Histogram:
    histogram = Histogram()
    for value in values:
        histogram.record(value)
    return histogram


def test_bounds_are_five_percent_apart_over_the_whole_range() -> None:
    assert BOUNDS[0] == LOWEST
    assert BOUNDS[-1] >= HIGHEST
    assert all(1.04 < high / low < 1.06 for low, high in pairwise(BOUNDS))
    assert len(BOUNDS) < 400


@given(durations, st.floats(0.01, 1.0))
def test_a_quantile_is_at_most_one_bucket_off(values: list[float], share: float) -> None:
    exact = sorted(values)[max(0, math.ceil(share * len(values)) - 1)]
    found = quantile(recorded(values).snapshot(), share)
    assert found is not None
    assert exact <= found <= exact * 1.06


@given(durations, durations)
def test_merging_is_the_same_as_recording_all(left: list[float], right: list[float]) -> None:
    merged = merge_snapshots([recorded(left).snapshot(), {}, recorded(right).snapshot()])
    whole = recorded(left + right).snapshot()
    assert merged["counts"] == whole["counts"]
    assert merged["sum"] == pytest.approx(whole["sum"])


def test_merging_leaves_its_inputs_alone() -> None:
    first = recorded([1.0]).snapshot()
    merge_snapshots([first, first])
    assert sum(first["counts"]) == 1
    assert merge_snapshots([]) == {}


def test_different_bounds_cannot_be_merged() -> None:
    with pytest.raises(ValueError, match="different bounds"):
        merge_snapshots([recorded([1.0]).snapshot(), {"bounds": [1.0], "counts": [0, 0], "sum": 0.0}])


def test_beyond_the_ends() -> None:
    snapshot = recorded([0.0, 1e6]).snapshot()
    assert snapshot["counts"][0] == 1
    assert snapshot["counts"][-1] == 1
    assert len(snapshot["counts"]) == len(snapshot["bounds"]) + 1
    assert quantile(snapshot, 1.0) == math.inf
    assert quantile(Histogram().snapshot(), 0.5) is None
