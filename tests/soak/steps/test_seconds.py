# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest

from vllm_soak.steps.seconds import KEPT_SECONDS, RecentSeconds, of_load, of_server


def test_a_second_of_load():
    event = {"completed": 200, "failed": 1, "in_flight": 64, "latency": {"p50": 0.27, "p99": 0.5, "count": 200}}
    assert of_load(event, 1.3) == {
        "throughput": 200.0, "latency_p50": 0.27, "latency_p99": 0.5, "in_flight": 64.0, "failed": 1.0,
        "cores": 1.3, "cpu_per_request": pytest.approx(0.0065),
    }  # fmt: skip


def test_a_second_in_which_nothing_was_answered():
    assert of_load({"completed": 0, "latency": {}}, 0.1) == {"throughput": 0.0, "cores": 0.1}
    assert of_load({"completed": 5, "latency": {}}, None) == {"throughput": 5.0}


def test_between_two_readings_of_a_server():
    before = {"requests": 100.0, "latency_sum": 30.0, "latency_count": 100.0}
    after = {"requests": 300.0, "latency_sum": 90.0, "latency_count": 300.0}
    found = of_server(before, after, 2.0, 0.5)
    assert found == {"throughput": 100.0, "latency_mean": pytest.approx(0.3), "cores": 0.5, "cpu_per_request": 0.005}


def test_a_server_that_restarted_or_has_no_such_metrics_gives_nothing():
    assert of_server({"requests": 100.0}, {"requests": 5.0}, 1.0, None) == {}
    assert of_server({}, {"requests": 5.0}, 1.0, None) == {}
    assert of_server({"requests": 1.0}, {"requests": 5.0}, 0.0, None) == {}


def test_the_last_minutes_as_a_table():
    recent = RecentSeconds()
    for second in range(KEPT_SECONDS + 5):
        recent.add(float(second), {"latency_p50": 0.25})
    lines = recent.page().splitlines()
    assert lines[0].startswith("elapsed,latency_p50,latency_p99")
    assert len(lines) == KEPT_SECONDS + 1
    assert lines[1].startswith("5,0.25,")
