# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import io
from dataclasses import replace

import pytest
from rich.console import Console

from vllm_soak.report.live import LiveView
from vllm_soak.report.standing import standing, urgency
from vllm_soak.store.record import Arm, RunData
from vllm_soak.verdict.judge import judge
from vllm_soak.verdict.outcome import Outcome

SECOND = {"completed": 231, "failed": 2, "latency": {"p50": 0.27, "p99": 0.51}}


def shown(view: LiveView) -> str:
    console = Console(file=io.StringIO(), width=100)
    console.print(view.render())
    text = console.file.getvalue()  # type: ignore[attr-defined]
    return "\n".join(line.rstrip() for line in text.splitlines())


@pytest.fixture
def view():
    console = Console(file=io.StringIO(), width=100, force_terminal=True)
    with LiveView(console) as made:
        yield made


def test_arms_stand_side_by_side(view, ab_run):
    view.phase("measured round 5")
    view.advance(300, 600)
    view.judged(ab_run, judge(ab_run), ["unpatched", "patched"])
    text = shown(view)
    assert "measured round 5" in text
    assert "300/600" in text
    for words in ("5 measured, 3 warm-up", "in use, EngineCore", "new_block_ids", "so far"):
        assert words in text


def test_a_second_of_load_replaces_the_pace_of_the_round(view, ab_run):
    view.phase("measured round 6")
    view.judged(ab_run, judge(ab_run), ["unpatched"])
    view.second("unpatched", SECOND)
    text = shown(view)
    assert "231 requests/s" in text
    assert "p50 270 ms, p99 510 ms" in text
    assert "2 in the last second" in text
    rows = [line.split()[0] for line in text.splitlines()]
    assert rows.index("latency") + 1 == rows.index("failed") < rows.index("in"), "failures stand beside the load"
    view.judged(ab_run, judge(ab_run), ["unpatched"])
    assert "231 requests/s" not in shown(view), "the round is over"


def test_a_log_gets_one_line_an_arm_and_round(ab_run):
    file = io.StringIO()
    view = LiveView(Console(file=file, width=80))
    view.judged(ab_run, judge(ab_run), ["unpatched", "patched"])
    view.second("unpatched", SECOND)
    lines = file.getvalue().splitlines()
    assert len(lines) == 2
    assert lines[0].startswith("  unpatched: ")
    assert "in use: EngineCore" in lines[0]
    assert "new_block_ids" in lines[0]
    assert "new_block_ids" not in lines[1]


def test_a_latency_that_nobody_knows_is_left_out(view, ab_run):
    arm = ab_run.arms[0]
    watched = replace(ab_run, arms=[replace(arm, rounds=[replace(one, latency={}) for one in arm.rounds])])
    now = standing(watched, judge(watched), arm.name)
    assert "p50" not in now.line()
    view.judged(watched, judge(watched), [arm.name])
    assert "latency" not in shown(view)


def test_what_leaks_comes_first_and_what_has_no_path_last(ab_run):
    (leak,) = (one for one in judge(ab_run).arms[0].processes[0].suspects if one.outcome is Outcome.LEAK)
    unrooted = replace(leak, path="<no root: list>", outcome=Outcome.INCONCLUSIVE, growth=[10**6])
    doubtful = replace(leak, path="a.cache", outcome=Outcome.INCONCLUSIVE)
    assert sorted([unrooted, doubtful, leak], key=urgency) == [leak, doubtful, unrooted]


def test_nothing_is_said_of_an_arm_without_rounds(ab_run):
    empty = RunData({}, "running", "2026-01-01", [Arm("run")])
    assert standing(empty, judge(empty), "run") is None
    assert standing(ab_run, judge(ab_run), "nobody") is None


def test_the_terminal_is_left_as_it_was(view):
    view.phase("warm-up round 1")
    view.note("a note")
    view.close()
    assert view.live is None
    text = view.console.file.getvalue()
    assert "a note" in text
    assert "\x1b[?25h" in text, "the cursor is back"
