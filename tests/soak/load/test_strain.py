# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import time

import pytest

from vllm_soak.load.strain import Strain, bottleneck


def test_a_client_at_its_limit_says_so() -> None:
    assert bottleneck(0.89) is None
    assert "0.95 of the one core" in str(bottleneck(0.95))


def test_processor_time_is_that_of_the_load_and_of_each_second() -> None:
    strain = Strain()
    until = time.process_time() + 0.2
    while time.process_time() < until:
        pass
    busy = strain.second()["cpu"]
    time.sleep(0.3)
    assert strain.second()["cpu"] < busy
    assert 0 < strain.whole()["cpu"] < 1.1
    assert strain.whole()["rss_anon"] > 1e6


def test_lag_is_the_longest_of_each_second() -> None:
    strain = Strain()
    for late in (0.001, 0.2, -0.001):
        strain.late(late)
    assert strain.second()["lag"] == 0.2
    assert strain.second()["lag"] == 0.0
    assert strain.whole()["lag_max"] == 0.2
    assert strain.whole()["lag_p99"] == pytest.approx(0.2, rel=0.05)
