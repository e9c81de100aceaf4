# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest

from vllm_soak.report.outlook import outlook, sentence, span, unit_of, when
from vllm_soak.store.outside import HOST, Point
from vllm_soak.verdict.forecast import CONTROL_GROUP, MACHINE, Forecast, Room

GIB = 1024.0**3


def test_a_leak_says_when_it_meets_the_limit():
    one = Forecast("run", 1000.0, 900.0, 1100.0, 150.0, Room(CONTROL_GROUP, 64 * GIB, 20 * GIB), 41.0, 38.0, 45.0, 11.0)
    assert sentence(one) == (
        "reaches the control group's limit (64.0 GiB) in 41 h (38 to 45 h) at 150 requests/s; "
        "grows by 1,000 B (900 B to 1.1 KiB) a request, and 20.0 GiB were left"
    )


def test_no_growth_says_how_small_a_leak_would_have_shown():
    expected = "no sign of growth; smallest leak that this run would have seen: 11 B a request"
    assert sentence(Forecast("run", detectable=11.0)) == expected


def test_a_run_that_did_not_look_at_the_machine_says_what_a_day_adds():
    text = sentence(Forecast("run", 123.9, 118.4, 129.3, 400.0, detectable=5.5))
    assert text == ("grows by 124 B (118 B to 129 B) a request: 4.0 GiB a day at 400 requests/s")


def test_growth_told_by_containers_is_the_least_of_it():
    text = sentence(Forecast("run", 112.0, rate=150.0, room=Room(MACHINE, 24 * GIB, 20 * GIB), hours=355.0))
    assert text.startswith(
        "reaches the machine's memory (24.0 GiB) in 15 days at 150 requests/s; grows by 112 B at least"
    )


def test_what_is_open_is_said_so():
    assert sentence(Forecast("run", settled=False)) == "whether memory grows is open"
    room = Room(MACHINE, GIB, GIB)
    one = Forecast("run", 9.0, 8.0, 10.0, 5.0, room, 6628.0, 5965.0, 7456.0, settled=False)
    assert sentence(one).startswith("whether this goes on is open, but if it does: reaches the machine's memory")


@pytest.mark.parametrize(
    ("hours", "text"),
    [(0.5, "30 min"), (2.9, "174 min"), (3.0, "3.0 h"), (41.2, "41 h"), (96.0, "4.0 days"), (480.0, "20 days"),
     (10_000.0, "1.1 years"), (1e6, "more than 10 years"), (None, "more than 10 years")],
)  # fmt: skip
def test_times_ahead(hours, text):
    assert when(Forecast("run", hours=hours)) == text


def test_an_interval_has_one_unit():
    assert when(Forecast("run", hours=100.0, soonest=86.0, latest=125.0)) == "4.2 days (3.6 to 5.2 days)"
    assert when(Forecast("run", hours=100.0, soonest=86.0, latest=None)) == "4.2 days"
    assert when(Forecast("run", hours=9e4, soonest=8e4, latest=1e5)) == "more than 10 years (9.1 to more than 10 years)"
    assert when(Forecast("run", hours=5e4, soonest=4e4, latest=1e5)) == "5.7 years (4.6 to more than 10 years)"
    assert (unit_of(None), span(0.5, "min")) == ("min", "30")


def test_both_arms_of_a_run(ab_run, ab_verdict):
    ab_run.arms[0].points.append(
        Point("unpatched", 60.0, HOST, 0, 4800, {"mem_available": 20 * GIB, "mem_total": 24 * GIB})
    )
    leaks, clean = outlook(ab_run, ab_verdict)
    assert leaks.startswith("unpatched: reaches the machine's memory (24.0 GiB) in 5.0 days (4.8 to 5.2 days) at ")
    assert clean == "patched: no sign of growth; smallest leak that this run would have seen: 5.5 B a request"
