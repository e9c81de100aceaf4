# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import time

import pytest

from vllm_soak.heap.pace import WHOLE, Pace, Turns


@pytest.fixture
def rests(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """What was slept, without sleeping."""
    taken: list[float] = []
    monkeypatch.setattr(time, "sleep", taken.append)
    return taken


def work() -> float:
    """Some processor time of this thread, in seconds."""
    began = time.thread_time()
    while time.thread_time() - began < 0.005:
        pass
    return time.thread_time() - began


def test_the_program_has_the_greater_part_of_the_time(rests: list[float]) -> None:
    Turns(Pace(max_pause_ms=5.0)).rest(0.005)
    assert len(rests) == 1
    assert 0.97 <= rests[0] / (rests[0] + 0.005) < 1


def test_work_in_python_is_paid_for_by_what_it_took(rests: list[float]) -> None:
    pace = Pace(max_pause_ms=5.0)
    turns = Turns(pace)
    least = work()
    turns.between()
    turns.between()  # nothing was done since
    assert len(rests) == 1
    assert rests[0] >= pace.rest(least)


def test_what_held_nobody_up_is_not_paid_for(rests: list[float]) -> None:
    turns = Turns(Pace(max_pause_ms=5.0))
    work()
    turns.work_aside()
    turns.between()
    assert not rests


def test_a_census_in_one_piece_does_not_rest(rests: list[float]) -> None:
    turns = Turns(WHOLE)
    work()
    turns.between()
    turns.rest(1.0)
    assert not rests


def test_there_is_an_end_to_resting(rests: list[float]) -> None:
    turns = Turns(Pace(max_pause_ms=5.0, seconds=0.0))
    work()
    turns.between()
    assert not rests
