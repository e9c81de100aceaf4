# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from vllm_soak.verdict.student import normal_quantile, t_quantile


@settings(deadline=None)
@given(st.floats(0.5, 0.9999), st.integers(1, 300))
def test_the_quantile_is_that_of_scipy(probability: float, freedom: int) -> None:
    assert t_quantile(probability, freedom) == pytest.approx(
        float(stats.t.ppf(probability, freedom)), rel=1e-9, abs=1e-9
    )


@pytest.mark.parametrize("freedom", [1, 2, 3, 4, 13])
def test_the_probabilities_that_the_rules_use(freedom: int) -> None:
    for probability in (0.95, 0.975, 0.99):
        assert t_quantile(probability, freedom) == pytest.approx(float(stats.t.ppf(probability, freedom)), rel=1e-12)


def test_many_degrees_of_freedom_are_nearly_normal() -> None:
    assert t_quantile(0.99, 100_000) == pytest.approx(normal_quantile(0.99), rel=1e-4)


@pytest.mark.parametrize(("probability", "freedom"), [(0.4, 3), (1.0, 3), (0.9, 0)])
def test_what_has_no_quantile_is_refused(probability: float, freedom: int) -> None:
    with pytest.raises(ValueError, match="no t quantile"):
        t_quantile(probability, freedom)
