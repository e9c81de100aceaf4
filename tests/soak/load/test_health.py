# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest

from vllm_soak.load.answer import Answer
from vllm_soak.load.health import FEWEST_FAILURES, LONGEST_PAUSE, Health

REFUSED = Answer("failed", kind="refused", text="no")


def failing(health: Health, times: list[float]) -> None:
    for index, at in enumerate(times):
        health.sent(index, at)
        health.ended(index, REFUSED, at)


def verdict(health: Health, now: float, last_byte: float = 0.0) -> str:
    return str(health.verdict(now, last_byte) or "")


def test_failures_alone_for_long_are_a_death() -> None:
    health = Health("u", 5.0, 300.0)
    failing(health, [0.0, 2.0, 4.9])
    assert not verdict(health, 4.9)
    failing(health, [5.0])
    assert "u refused every connection for 5 s (no): see at the end of the server's log" in verdict(health, 5.0)


def test_time_that_passes_without_another_failure_is_none() -> None:
    health = Health("u", 5.0, 300.0)
    failing(health, [0.0, 0.1, 0.2, 0.3])
    assert not verdict(health, 100.0), "the next request may be answered well"


def test_few_failures_are_not_enough_however_slow_they_come() -> None:
    health = Health("u", 5.0, 300.0)
    failing(health, [60.0 * number for number in range(FEWEST_FAILURES - 1)])
    assert not verdict(health, 1000.0)


@pytest.mark.parametrize("outcome", ["completed", "rejected"])
def test_an_answer_is_a_sign_of_life(outcome) -> None:
    health = Health("u", 5.0, 300.0)
    failing(health, [0.0, 3.0])
    health.sent(9, 4.0)
    health.ended(9, Answer(outcome), 4.0)
    failing(health, [5.0, 7.0, 9.0])
    assert not verdict(health, 9.0)


def test_a_request_that_we_gave_up_is_none() -> None:
    health = Health("u", 5.0, 300.0)
    failing(health, [0.0, 3.0])
    health.sent(9, 4.0)
    health.ended(9, Answer("aborted"), 4.0)
    failing(health, [6.0])
    assert verdict(health, 6.0)


def test_silence_counts_only_while_something_waits() -> None:
    health = Health("u", 5.0, 10.0)
    assert not verdict(health, 1000.0)
    health.sent(1, 1000.0)
    assert not verdict(health, 1009.0)
    assert "u sent nothing for 10 s while 1 requests waited" in verdict(health, 1010.0)
    assert not verdict(health, 1010.0, last_byte=1005.0)


def test_pauses_grow_to_a_bound() -> None:
    health = Health("u", 5.0, 300.0)
    pauses = []
    for index in range(500):
        failing(health, [float(index)])
        pauses.append(health.pause)
    assert pauses == sorted(pauses)
    assert pauses[-1] == LONGEST_PAUSE
    assert pauses[0] < 0.1
