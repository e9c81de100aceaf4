# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import math
import statistics
from itertools import islice

import pytest

from vllm_soak.workloads.arrival import intervals


def test_an_infinite_rate_never_waits() -> None:
    assert list(islice(intervals(math.inf), 5)) == [0.0] * 5


@pytest.mark.parametrize("burstiness", [0.25, 1.0, 4.0])
def test_mean_and_spread_are_those_of_the_gamma_distribution(burstiness: float) -> None:
    gaps = list(islice(intervals(50.0, burstiness, seed=1), 40_000))
    assert statistics.fmean(gaps) == pytest.approx(1 / 50, rel=0.05)
    # Coefficient of variation of a gamma distribution: 1 / sqrt(shape).
    assert statistics.stdev(gaps) / statistics.fmean(gaps) == pytest.approx(burstiness**-0.5, rel=0.05)


def test_same_seed_same_arrivals() -> None:
    first, again, other = (list(islice(intervals(10.0, seed=seed), 20)) for seed in (3, 3, 4))
    assert first == again != other


@pytest.mark.parametrize(("rate", "burstiness"), [(0.0, 1.0), (-1.0, 1.0), (math.nan, 1.0), (1.0, 0.0)])
def test_impossible_rates_are_refused(rate: float, burstiness: float) -> None:
    with pytest.raises(ValueError, match="above 0"):
        next(intervals(rate, burstiness))
