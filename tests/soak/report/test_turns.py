# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import io
from dataclasses import replace
from typing import Any

from rich.console import Console

from vllm_soak.report.document import compose
from vllm_soak.report.html import render_html
from vllm_soak.report.markdown import render_markdown
from vllm_soak.report.terminal import print_report
from vllm_soak.report.turns import build_turns
from vllm_soak.store.record import RunData
from vllm_soak.verdict.judge import judge

TURNS = [
    {"mlx_active": 1e6 + held, "ssm_arrays": 3.0 * at, "mtp_entries": float(at)}
    for at, held in enumerate((0, 321_000, 770_000))
]
FLAT = [{"mlx_active": 1e6, "ssm_arrays": 0.0, "mtp_entries": 0.0}] * 3


def with_turns(run: RunData, *rows: Any) -> RunData:
    arms = [replace(arm, engine={**arm.engine, "turns": one}) for arm, one in zip(run.arms, rows, strict=False)]
    return replace(run, arms=arms)


def test_a_row_a_turn_and_a_column_an_arm(ab_run: RunData) -> None:
    built = build_turns(with_turns(ab_run, TURNS, FLAT))
    assert built.columns == ["unpatched, MB over idle", "patched, MB over idle"]
    assert [row.name for row in built.rows] == ["1", "2"]
    assert str(built.rows[0].cells[0]) == "+0.321 (SSM arrays 3, MTP entries 1)"
    assert str(built.rows[1].cells[1]) == "+0.000 (SSM arrays 0, MTP entries 0)"


def test_an_arm_that_was_cut_short_has_empty_cells(ab_run: RunData) -> None:
    built = build_turns(with_turns(ab_run, TURNS, FLAT[:2]))
    assert [str(row.cells[1]) for row in built.rows] == ["+0.000 (SSM arrays 0, MTP entries 0)", ""]


def test_other_engines_have_no_such_table(ab_run: RunData) -> None:
    assert build_turns(ab_run).rows == []
    assert "A growing conversation" not in render_html(ab_run, judge(ab_run), [])


def test_every_report_shows_it(ab_run: RunData) -> None:
    run = with_turns(ab_run, TURNS, FLAT)
    verdict = judge(run)
    printed = io.StringIO()
    print_report(run, verdict, Console(file=printed, width=100), [])
    page = render_html(run, verdict, [])
    assert "+0.770" in printed.getvalue()
    assert "A growing conversation, turn by turn" in page
    assert "+0.770" in page
    assert "| 2 | +0.770 (SSM arrays 6, MTP entries 2) |" in render_markdown(run, verdict, []).replace("\\", "")
    assert compose(run, verdict).turns.head == "turn"


def test_memory_that_a_prefix_cache_does_not_count_is_told_where_no_leak_may_hold_it(ab_run: RunData) -> None:
    values = {"prefix_bytes": 840_000.0, "mlx_active": 2_430_000.0}
    run = with_turns(ab_run, FLAT, FLAT)
    arms = [
        replace(arm, samples=[replace(one, values={**one.values, **values}) for one in arm.samples]) for arm in run.arms
    ]
    run = replace(run, arms=arms)
    (also,) = (one for one in compose(run, judge(run)).sections if one.title == "Also found")
    (told,) = (line for line in also.lines if line.startswith("prefix cache"))
    assert "patched" in told  # the other arm leaks
    assert "it counts 820.3 KiB, and 1.4 MiB more" in told
    few = replace(run, arms=[replace(arm, rounds=arm.rounds[:4], samples=arm.samples[:4]) for arm in arms])
    assert not any("prefix cache" in line for one in compose(few, judge(few)).sections for line in one.lines)
