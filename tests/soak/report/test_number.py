# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vllm_soak.report.number import (
    count,
    count_change,
    duration,
    percent,
    plural,
    rate,
    size,
    size_change,
    small_size,
)


@pytest.mark.parametrize(
    ("shown", "wanted"),
    [
        (count(814800), "814,800"),
        (count(28000, signed=True), "+28,000"),
        (count(401.57), "401.6"),
        (size(0), "0 B"),
        (size(0, signed=True), "0 B"),
        (size(-0.2), "0 B"),
        (size(1023), "1,023 B"),
        (size(1024), "1.0 KiB"),
        (size(-1536), "-1.5 KiB"),
        (size(1.3 * 1024**2, signed=True), "+1.3 MiB"),
        (small_size(8.849), "8.85 B"),
        (small_size(4096), "4.0 KiB"),
        (rate(14), "+14.0"),
        (rate(0.0123), "+0.012"),
        (percent(0.974), "97 %"),
        (duration(0.0015), "1.5 ms"),
        (duration(0.27), "270 ms"),
        (duration(185), "3 min 5 s"),
        (duration(7260), "2 h 1 min"),
        (plural(1, "round"), "1 round"),
        (plural(5, "round"), "5 rounds"),
        (count_change(25200, 67200), "25,200 → 67,200"),
    ],
)
def test_numbers_read_as_people_write_them(shown, wanted):
    assert shown == wanted


def test_a_change_is_told_in_one_unit_with_the_decimals_it_takes():
    mib = 1024.0**2
    assert size_change(1214.3 * mib, 1214.66 * mib) == "1,214.3 → 1,214.7 MiB"
    assert size_change(1214.31 * mib, 1214.34 * mib) == "1,214.31 → 1,214.34 MiB"
    assert size_change(2000 * mib, 3000 * mib) == "2,000.0 → 3,000.0 MiB"
    assert size_change(10, 12) == "10 → 12 B"


@pytest.mark.parametrize("show", [count, size, small_size, rate, percent, duration])
@pytest.mark.parametrize("value", [None, math.nan, math.inf, -math.inf])
def test_what_is_not_a_number_is_never_shown_as_one(show, value):
    assert show(value) == "n/a"


@given(st.floats(allow_nan=False, allow_infinity=False, min_value=-1e18, max_value=1e18))
def test_a_size_keeps_its_magnitude(value):
    digits, unit = size(value).replace(",", "").split(" ")
    scale = 1024.0 ** ("B", "KiB", "MiB", "GiB", "TiB").index(unit)
    assert math.isclose(float(digits) * scale, value, rel_tol=0.06, abs_tol=0.51)
