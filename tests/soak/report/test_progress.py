# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import io

from rich.console import Console

from vllm_soak.report.progress import Progress


def plain(encoding="utf-8"):
    file = io.TextIOWrapper(io.BytesIO(), encoding=encoding, write_through=True)
    return Console(file=file, width=80, force_terminal=False), file


def written(file):
    return file.buffer.getvalue().decode().splitlines()


def test_plain_lines_are_few():
    console, file = plain()
    with Progress(console, quiet_seconds=3600) as progress:
        progress.phase("unpatched: measured round 1")
        for done in range(1000):
            progress.advance(done, 1000)
        progress.note("one more round [bold]why[/bold]")
    assert written(file) == ["unpatched: measured round 1", "one more round [bold]why[/bold]"]


def test_plain_lines_tell_how_far_it_is():
    console, file = plain()
    progress = Progress(console, quiet_seconds=0)
    progress.phase("warm-up round 1")
    progress.advance(1200, 6000)
    progress.advance(7, None)
    assert [line.split(" after ")[0] for line in written(file)] == [
        "warm-up round 1",
        "warm-up round 1: 1,200/6,000",
        "warm-up round 1: 7",
    ]


def test_a_terminal_shows_a_bar_and_is_left_clean():
    file = io.StringIO()
    console = Console(file=file, width=80, force_terminal=True)
    with Progress(console) as progress:
        progress.advance(1, 2)  # before any phase: nothing to show, no failure
        progress.phase("warm-up [round] 1")
        progress.advance(300, 600)
        progress.bar.refresh()
        progress.phase("measured round 1")
        progress.note("a note")
        assert len(progress.bar.tasks) == 1
    shown = file.getvalue()
    assert "warm-up [round] 1" in shown
    assert "300/600" in shown
    assert "a note" in shown
    assert shown.rstrip("\r").endswith("\x1b[2K") or "\x1b[?25h" in shown
    assert progress.bar is None


def test_a_terminal_without_unicode_gets_ascii():
    console, file = plain("ascii")
    Progress(console).note("one → two …")
    assert written(file) == ["one -> two ..."]


def test_a_long_phase_gets_ever_fewer_lines(monkeypatch):
    now = [0.0]
    monkeypatch.setattr("vllm_soak.report.progress.time.monotonic", lambda: now[0])
    console, file = plain()
    progress = Progress(console)
    progress.phase("measured round 1")
    for second in range(1800):
        now[0] = float(second)
        progress.advance(second, 1800)
    lines = written(file)[1:]
    assert "5/1,800" in lines[0]
    assert 35 <= len(lines) <= 50


def test_a_phase_and_its_counts_fit_into_eighty_columns():
    file = io.StringIO()
    console = Console(file=file, width=80, force_terminal=True, color_system=None)
    with Progress(console) as progress:
        progress.phase("measured round 12: 100 of 200 requests in all")
        progress.advance(1234, 4000)
        progress.bar.refresh()
    assert "1,234/4,000 0:00:00" in file.getvalue()
