# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import numpy as np

from vllm_soak.steps.bins import BIN_SECONDS, MOST_BINS, Bins
from vllm_soak.steps.series import CPU_PER_REQUEST, LATENCY_P50, LATENCY_P99, THROUGHPUT
from vllm_soak.steps.watch import StepWatch


class Load:
    """A closed loop of 64 clients, second by second."""

    def __init__(self, seed=1):
        self.steps = []
        self.watch = StepWatch(self.steps.append, arm="patched")
        self.now = 0
        self.noise = np.random.default_rng(seed)

    def run(self, seconds, latency=0.27, cpu=0.006):
        for _ in range(seconds):
            p50 = latency * float(np.exp(self.noise.normal(0, 0.06)))
            values = {LATENCY_P50: p50, THROUGHPUT: 64 / p50, CPU_PER_REQUEST: cpu}
            self.watch.add(float(self.now), self.now * 200, values)
            self.now += 1


def test_a_step_in_latency_is_told_within_a_minute_with_all_that_changed():
    load = Load()
    load.run(300)
    load.run(61, latency=0.27 * 1.3)
    (step,) = load.steps
    assert step.arm == "patched"
    assert abs(step.elapsed - 300) <= 2 * BIN_SECONDS
    assert 40 <= step.seen - 300 <= 60
    assert step.requests == step.seen * 200
    assert step.changes.keys() == {LATENCY_P50, THROUGHPUT}
    before, after = step.changes[LATENCY_P50]
    assert 1.2 < after / before < 1.4
    assert "latency_p50 rose by" in step.reason
    assert "throughput fell by" in step.reason


def test_the_upstream_report_s_moment_is_found_latency_up_processor_time_down():
    load = Load()
    load.run(300)
    load.run(60, latency=0.4, cpu=0.0046)
    (step,) = load.steps
    assert step.changes[CPU_PER_REQUEST] == [0.006, 0.0046]


def test_a_tail_that_rose_just_before_does_not_hide_the_median():
    load = Load()
    for second in range(400):
        p50 = (0.27 if second < 280 else 0.37) * float(np.exp(load.noise.normal(0, 0.05)))
        p99 = (0.4 if second < 230 else 0.8) * float(np.exp(load.noise.normal(0, 0.05)))
        load.watch.add(float(second), second, {LATENCY_P50: p50, LATENCY_P99: p99})
    assert [(set(step.changes), round(step.elapsed, -1)) for step in load.steps] == [
        ({LATENCY_P99}, 230),
        ({LATENCY_P50}, 280),
    ]


def test_a_steady_load_is_told_nothing():
    load = Load()
    load.run(3600)
    assert load.steps == []


def test_a_step_is_told_once_and_the_next_one_too():
    load = Load()
    load.run(300)
    load.run(300, latency=0.4)
    assert len(load.steps) == 1
    load.run(300, latency=0.6)
    assert len(load.steps) == 2


def test_what_the_load_does_when_it_pauses_says_nothing():
    load = Load()
    for _ in range(12):
        load.run(40)
        load.watch.pause()
        load.run(10, latency=0.02)
        load.watch.resume()
        load.run(4, latency=0.05)
    assert load.steps == []


def test_after_a_restart_another_level_is_no_step():
    load = Load()
    load.run(300)
    load.watch.restart()
    load.run(300, latency=0.8)
    assert load.steps == []


def test_without_two_minutes_of_load_before_it_a_step_is_not_told():
    load = Load()
    load.run(60)
    load.run(60, latency=0.8)
    assert load.steps == []


def test_missing_and_empty_seconds_are_left_out():
    load = Load()
    load.run(200)
    for _ in range(100):
        load.watch.add(float(load.now), 0, {LATENCY_P50: 0.0, THROUGHPUT: 0.0})
        load.watch.add(float(load.now), 0, {})
        load.now += 1
    load.run(100)
    assert load.steps == []


def test_bins_are_medians_and_bounded():
    bins = Bins()
    filled = [bins.add(float(second), 1.0 + (second % 5 == 4)) for second in range(5 * MOST_BINS + 10)]
    assert sum(filled) == MOST_BINS + 2
    assert bins.values() == [1.0] * MOST_BINS
    assert bins.bins[0].elapsed == 10.0
    bins.forget(200.0)
    assert bins.bins[0].elapsed == 200.0
