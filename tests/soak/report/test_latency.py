# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vllm_soak.report.latency import quantile, quantile_curve

BOUNDS = [0.1, 0.2, 0.4]


def test_a_quantile_is_linear_inside_its_bucket():
    histogram = {"bounds": BOUNDS, "counts": [0, 100, 0, 0]}
    assert math.isclose(quantile(histogram, 0.5), 0.15)
    assert math.isclose(quantile(histogram, 0.99), 0.199)


def test_beyond_the_last_bound_the_bound_is_all_that_is_known():
    assert quantile({"bounds": BOUNDS, "counts": [0, 0, 0, 5]}, 0.5) == 0.4


@given(
    st.lists(st.integers(0, 50), min_size=4, max_size=4).filter(any),
    st.floats(0.01, 1),
    st.floats(0.01, 1),
)
def test_a_higher_share_is_never_a_lower_latency(counts, one, other):
    histogram = {"bounds": BOUNDS, "counts": counts}
    low, high = (quantile(histogram, share) for share in sorted([one, other]))
    assert 0 <= low <= high <= BOUNDS[-1]


@pytest.mark.parametrize(
    "histogram",
    [
        {},
        {"bounds": BOUNDS},
        {"bounds": BOUNDS, "counts": [1, 2]},
        {"bounds": BOUNDS, "counts": [0, 0, 0, 0]},
        {"bounds": BOUNDS, "counts": [1, -1, 5, 0]},
        {"bounds": [math.nan, 1, 2], "counts": [1, 1, 1, 1]},
        {"bounds": [], "counts": [3]},
        {"bounds": None, "counts": "abc"},
    ],
)
def test_a_broken_histogram_has_no_quantile(histogram):
    assert quantile(histogram, 0.5) is None


def test_a_curve_has_one_point_for_each_measured_round(leak_run):
    curve = quantile_curve(leak_run.arms[0], 0.99)
    assert curve.requests == [2400, 3000, 3600, 4200, 4800]
    assert all(0.2 < value <= 2.0 for value in curve.values)
