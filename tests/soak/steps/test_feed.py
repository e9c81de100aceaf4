# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import numpy as np

from vllm_soak.steps.feed import replay
from vllm_soak.store.outside import CLIENT, HOST, SERVER, TREE, Point


def points(seconds, latency, *, wait=lambda _second: 0.05, others=lambda _second: 0.1, seed=1):
    """A run's points: a latency a second, and how much others used and the server waited."""
    noise = np.random.default_rng(seed).normal(0, 0.04, seconds)
    made = []
    for second in range(seconds):
        at = float(second)
        made += [
            Point("run", at - 0.5, TREE, 0, 0, {"main_wait": wait(second), "cores": 1.0}),
            Point("run", at - 0.5, HOST, 0, 0, {"others_cores": others(second), "steal_cores": 0.0}),
            Point("run", at - 0.5, SERVER, 0, 0, {"running": 3.0}),
            Point("run", at, CLIENT, 0, second * 40, {"latency_p50": latency(second) * float(np.exp(noise[second]))}),
        ]
    return made


def test_a_step_of_the_server_is_told_from_stored_points():
    (step,) = replay(points(400, lambda second: 0.3 if second >= 250 else 0.2))
    assert (step.contention, abs(step.elapsed - 250) <= 10) == ("", True)
    assert step.seen <= 310


def test_neighbours_that_come_and_stay_are_a_step_of_theirs_and_so_is_their_leaving():
    def busy(second):
        return 250 <= second < 400

    found = replay(
        points(
            600,
            lambda second: 0.3 if busy(second) else 0.2,
            wait=lambda second: 0.7 if busy(second) else 0.05,
            others=lambda second: 1.1 if busy(second) else 0.1,
        )
    )
    assert [bool(one.contention) for one in found] == [True, True]
    assert [("rose" in one.reason, round(one.elapsed, -1)) for one in found] == [(True, 250), (False, 400)]


def test_neighbours_that_come_and_go_do_not_hide_a_step_of_the_server():
    def burst(second):
        return second % 90 < 45

    made = points(
        400,
        lambda second: (0.27 if second >= 315 else 0.2) * (2 if burst(second) else 1),
        wait=lambda second: 0.8 if burst(second) else 0.05,
        others=lambda second: 1.1 if burst(second) else 0.1,
    )
    (step,) = replay(made)
    assert (step.contention, abs(step.elapsed - 315) <= 10) == ("", True)
    assert replay([one for one in made if one.process == CLIENT]) == []


def test_after_neighbours_came_to_stay_a_step_of_the_server_is_still_found():
    found = replay(
        points(
            600,
            lambda second: 0.2 * (1.5 if second >= 200 else 1) * (1.5 if second >= 450 else 1),
            wait=lambda second: 0.7 if second >= 200 else 0.05,
            others=lambda second: 1.1 if second >= 200 else 0.1,
        )
    )
    assert [(bool(one.contention), round(one.elapsed, -1)) for one in found] == [(True, 200), (False, 450)]


def test_warm_up_and_pauses_say_nothing():
    slow_start = points(400, lambda second: 0.6 if second < 130 else 0.2)
    assert len(replay(slow_start)) == 1
    assert replay(slow_start, after=135.0) == []
    with_pause = [one for one in points(400, lambda _second: 0.2) if not 200 <= one.elapsed < 230]
    assert replay(with_pause) == []
