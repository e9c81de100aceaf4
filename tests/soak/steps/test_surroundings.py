# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest

from vllm_soak.steps.crowd import Crowd
from vllm_soak.steps.surroundings import KEPT_SECONDS, PROCESSORS, UNCHANGED, Surroundings
from vllm_soak.store.outside import LevelStep


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


def shared(**both):
    """Three minutes of rates of the machine and the server, with a level before 100 s and another since."""
    found = Surroundings()
    for second in range(180):
        found.add(float(second), {name: pair[second >= 100] for name, pair in both.items()})
    return found


def step(before=0.2, after=0.3):
    return LevelStep("run", 100.0, 144.0, 9, {"latency_p50": [before, after]}, "latency_p50 rose by 50 %")


NEIGHBOUR = {"others_cores": (0.3, 0.5), "main_wait": (0.05, 0.6), "cores": (1.1, 0.9)}
CROWDED = {"others_cores": (0.1 * PROCESSORS, 0.5 * PROCESSORS), "main_wait": (0.05, 0.05), "cores": (1.1, 1.1)}


@pytest.mark.parametrize(
    ("machine", "told", "of_others"),
    [
        (NEIGHBOUR, step(), True),
        ({name: pair[::-1] for name, pair in NEIGHBOUR.items()}, step(0.3, 0.2), True),
        ({name: pair[::-1] for name, pair in NEIGHBOUR.items()}, step(), False),  # they left, and it became slower
        (CROWDED, step(), True),  # they share its cores, and it need not wait
        (CROWDED, step(0.3, 0.2), False),
        ({**NEIGHBOUR, "main_wait": (0.05, 0.07)}, step(), False),  # a few came, and it did not feel them
        ({**NEIGHBOUR, "others_cores": (0.1, 0.1)}, step(), False),  # there is nobody else
        ({**NEIGHBOUR, "others_cores": (0.5, 0.3), "cores": (1.0, 1.5)}, step(), False),  # it waits for itself
        ({"steal_cores": (0.0, 0.4)}, step(), True),
        ({}, step(), False),
    ],
)
def test_others_account_for_what_they_took_from_the_server(machine, told, of_others):
    found = shared(**machine).explain(told, None)
    assert bool(found.contention) is of_others
    assert found.reason.startswith("latency_p50 rose by 50 %")


def test_a_quota_accounts_for_a_step():
    assert machine("cgroup_throttled_us", 0.0, 0.3, unit=1e-6).explain(step(), None).contention


def test_a_step_that_shows_where_the_server_waited_as_long_is_its_own_and_one_that_does_not_is_not():
    assert shared(**NEIGHBOUR).explain(step(), True).contention == ""
    found = shared(**NEIGHBOUR).explain(step(), False)
    assert found.contention == (
        "other programs used 0.30 cores before and 0.50 after; "
        "the server's main threads waited 0.05 s a second for a core before and 0.60 s after; "
        "the server used 1.10 cores before and 0.90 after"
    )
    assert found.reason == f"latency_p50 rose by 50 % ({found.contention})"
    assert shared(cores=(1.0, 1.0)).explain(step(), False).contention == UNCHANGED


def test_how_much_others_are_in_the_way_is_known_as_long_as_it_is_fresh():
    found = shared(main_wait=(0.1, 0.4))
    found.add(180.0, {"others_cores": 0.5})
    assert found.crowd(181.0) == Crowd(0.4, 0.5 / PROCESSORS)
    assert found.crowd(190.0) is None
    assert Surroundings().crowd(1.0) is None
    found.add(300.0, {"others_cores": 0.5})
    assert found.crowd(300.0) is None
