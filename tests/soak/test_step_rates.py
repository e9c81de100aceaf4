# SPDX-License-Identifier: Apache-2.0
"""Steady quarters of an hour are told no step, and +30 % is told within a minute, by the benchmark's own noises."""

from __future__ import annotations

import importlib.util
import sys

import numpy as np
import pytest

NOISES = ("white, 5 %", "white, 15 %", "wandering, 5 %, 10 s", "stalls", "every 20 s", "drift")


@pytest.fixture(scope="module")
def rates(root):
    spec = importlib.util.spec_from_file_location("step_rates", root / "benchmarks" / "step_rates.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["step_rates"] = module  # its dataclass looks for its own module
    spec.loader.exec_module(module)
    yield module
    del sys.modules["step_rates"]


@pytest.mark.parametrize("name", NOISES)
def test_ten_steady_runs_are_told_no_step(rates, name):
    for seed in range(10):
        rng = np.random.default_rng(seed)
        assert rates.watch(rates.NOISES[name](rng), rng) == [], seed


@pytest.mark.parametrize("name", ["white, 5 %", "stalls", "every 20 s", "drift"])
def test_a_third_slower_is_told_within_a_minute_in_most_runs(rates, name):
    delays = []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        slower = rates.NOISES[name](rng) + np.log(1.3) * (np.arange(rates.SECONDS) >= rates.STEP_AT)
        delays.append(rates.delay(slower, rng))
    assert sum(delay is not None and 0 < delay <= rates.WITHIN for delay in delays) >= 8, delays


def test_a_recorded_series_is_put_together_anew(rates, tmp_path):
    file = tmp_path / "seconds.csv"
    lines = ["elapsed,latency_p50", *(f"{second},{0.25 + 0.01 * (second % 3)}" for second in range(200)), "200,"]
    file.write_text("\n".join(lines))
    series = rates.recorded(file)(np.random.default_rng(1))
    assert len(series) == rates.SECONDS
    assert abs(float(np.median(series))) < 0.05
