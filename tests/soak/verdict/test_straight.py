# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from vllm_soak.verdict.straight import straight


@settings(deadline=None)
@given(st.lists(st.integers(-(10**6), 10**6), min_size=3, max_size=30, unique=True))
def test_it_is_the_line_of_scipy(values: list[int]) -> None:
    places = [float(at) for at in range(len(values))]
    found, theirs = straight(places, values), stats.linregress(places, values)
    assert found.slope == pytest.approx(theirs.slope, rel=1e-6, abs=1e-6)
    assert found.start == pytest.approx(theirs.intercept, rel=1e-6, abs=1e-5)
    assert found.scatter / found.leverage**0.5 == pytest.approx(theirs.stderr, rel=1e-6, abs=1e-3)
    assert found.freedom == len(values) - 2
