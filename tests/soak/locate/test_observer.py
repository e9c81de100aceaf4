# SPDX-License-Identifier: Apache-2.0
"""A process that does what was written down beforehand, and what is said of it."""

from __future__ import annotations

import io
import os
from itertools import accumulate
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console

from vllm_soak.locate.observer import Observer
from vllm_soak.locate.windows import Windows
from vllm_soak.probe.client import ProbeClient

ROW = {"path": "kept", "template": "kept", "fingerprint": "0" * 12, "type": "list", "shallow_bytes": 1}
SHORT = 0.1


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """Time passes by sleeping only, so that windows are as long as they should be on any machine."""
    now = [0.0]

    def sleep(seconds: float) -> None:
        now[0] += seconds

    made = SimpleNamespace(sleep=sleep, monotonic=lambda: now[0])
    monkeypatch.setattr("vllm_soak.locate.observer.time", made)
    return made


class Scripted(ProbeClient):
    """A process whose work and growth between two looks were decided beforehand.

    Args:
        ticks: Hundredths of a processor second that it took before each look, census or glance.
        kept: Entries that it kept meanwhile.
    """

    def __init__(self, ticks: list[int], kept: list[int]) -> None:
        super().__init__("no.sock")
        self.ticks, self.kept = list(accumulate(ticks)), list(accumulate(kept))
        self.at = self.censuses = -1

    def ping(self) -> dict[str, Any]:
        return {"pid": 1, "process": "bursts.py", "python": "3.11"}

    def glance(self) -> dict[str, Any]:
        self.at += 1
        per_tick = os.sysconf("SC_CLK_TCK") / 100
        named = {"kept": self.kept[self.at]} if self.censuses >= 1 else {}
        return {"values": {"cpu_user_jiffies": self.ticks[self.at] * per_tick}, "lengths": {}, "named": named}

    def census(self, *, baseline: bool = False, max_pause_ms: float = 0.0, **_more: bool) -> dict[str, Any]:
        assert max_pause_ms == 5
        self.censuses += 1
        rows = [] if baseline else [{**ROW, "length": 10 * self.kept[self.at]}]
        counts = {"objects": 1, "containers": 1, "seconds": 0.0, "walker": "native", "partial": ""}
        return {**counts, "populations": rows}


def watched(script: Scripted, windows: Windows) -> Observer:
    observer = Observer(script, windows, Console(quiet=True))
    observer.watch()
    return observer


@pytest.mark.parametrize(
    ("ticks", "unit", "outcome"),
    [
        ([500, 700, 90, 700, 90, 400, 700], "CPU second", "leak"),
        ([1, 0, 1, 0, 1, 0, 1], "second", "inconclusive"),
    ],
)
def test_a_busy_process_is_measured_by_its_processor_time(ticks: list[int], unit: str, outcome: str) -> None:
    """Growth in bursts is uneven by the second, and even by the CPU second."""
    kept = [500, 700, 90, 700, 90, 400, 700]
    (found,) = watched(Scripted(ticks, kept), Windows(interval=SHORT, max_rounds=5)).located().grown
    assert (found.unit, found.outcome) == (unit, outcome)


def test_lengths_are_those_of_the_moment_that_work_is_read() -> None:
    """A walk comes past a container seconds before it ends: its length then is ten times too large here."""
    ticks = [500, 700, 90, 700, 90, 400, 700]
    (found,) = watched(Scripted(ticks, ticks), Windows(interval=SHORT, max_rounds=5)).located().grown
    assert found.growth == ticks[2:]
    assert found.outcome == "leak"


def test_readings_between_censuses_settle_what_few_windows_leave_open(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a processor second does differs on a shared machine: five windows are too few, fifty readings are not."""
    monkeypatch.setattr("vllm_soak.locate.windows.BETWEEN_GLANCES", SHORT / 10)
    looks = 10
    load = [(1, 3)[at % 2] for at in range(8 * looks)]
    ticks = [one * (30 if at // looks % 2 else 20) for at, one in enumerate(load)]
    observer = watched(Scripted(ticks, [1400 * one for one in load]), Windows(interval=SHORT, max_rounds=5))
    assert observer.journal.verdict(observer._cpu).outcome == "inconclusive"
    found = observer.located()
    assert (found.verdict.outcome, found.exit_code) == ("leak", 1)
    reason = found.grown[0].reason
    assert reason.startswith("grew in each of ")
    assert "readings by" in reason
    assert "round" not in reason
    assert "growth per CPU second ended at" in reason


def test_readings_do_not_make_a_leak_of_what_fills_ever_more_slowly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vllm_soak.locate.windows.BETWEEN_GLANCES", SHORT / 10)
    kept = [100_000 // at for at in range(1, 200)]
    observer = watched(Scripted([100] * 200, kept), Windows(interval=SHORT, max_rounds=5))
    assert observer.located().verdict.outcome == "inconclusive"


def test_one_idle_window_clears_nothing() -> None:
    kept = [500, 700, 90, 700, 90, 400, 700, 0, *[300] * 20]
    observer = watched(Scripted([0] * len(kept), kept), Windows(interval=SHORT))
    assert len(observer.journal.arm.rounds) > 8
    assert observer.located().verdict.outcome != "bounded"


def test_a_process_that_polls_is_measured_by_the_clock(monkeypatch: pytest.MonkeyPatch, clock: SimpleNamespace) -> None:
    """It takes processor time for nothing while it waits, so its growth follows the clock and not its own time."""
    monkeypatch.setattr("vllm_soak.locate.windows.BETWEEN_GLANCES", SHORT / 10)
    ticking = iter(at / 10 for at in range(100_000))
    clock.monotonic = lambda: next(ticking)
    ticks = [(9, 4, 1, 8, 2, 6, 3, 9, 1, 2, 7)[at % 11] * (1 + at // 10 % 3) for at in range(80)]
    observer = watched(Scripted(ticks, [1400] * 80), Windows(interval=SHORT, max_rounds=5))
    assert observer.is_busy()
    (found,) = observer.located().grown
    assert (found.unit, found.outcome) == ("second", "leak")
    assert found.per_unit == pytest.approx(14_000)


def test_what_a_census_does_not_see_is_said_once() -> None:
    script = Scripted([0] * 7, [1] * 7)
    answers = iter(["not in slices", "not in slices", "not in slices; 3 were not named", *["not in slices"] * 9])
    census = script.census
    script.census = lambda **how: {**census(**how), "partial": next(answers)}  # type: ignore[method-assign]
    console = Console(record=True, file=io.StringIO(), width=200)
    Observer(script, Windows(interval=SHORT, max_rounds=5), console).watch()
    said = console.export_text()
    assert said.count("not in slices") == said.count("3 were not named") == 1
