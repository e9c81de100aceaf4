# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from vllm_soak.steps.surroundings import KEPT_SECONDS, Surroundings


def machine(name, before, after, unit=1.0, at=100):
    """Three minutes of a counter that grows by a share of the time before a moment, and by another after it."""
    found, total = Surroundings(), 0.0
    for second in range(180):
        total += (before if second < at else after) / unit
        found.add(float(second), {name: total, "other": 5.0})
    return found


def test_a_neighbour_that_takes_the_cores_is_told():
    text = machine("cpu_pressure_some", 0.03, 0.45).change(100.0)
    assert text == "tasks waited for a core 3 % of the time before and 45 % after"


def test_a_quota_is_told():
    text = machine("cgroup_throttled_us", 0.0, 0.3, unit=1e-6).change(100.0)
    assert text == "the control group was held back by its processor quota 0 % of the time before and 30 % after"


def test_a_machine_that_stayed_as_it_was_is_not_told():
    assert machine("cpu_pressure_some", 0.30, 0.35).change(100.0) == ""
    assert Surroundings().change(100.0) == ""


def test_only_the_last_minutes_are_kept():
    found = Surroundings()
    for second in range(3000):
        found.add(float(second), {"cpu_pressure_some": 0.1})
    assert len(found._rows) == KEPT_SECONDS + 1
