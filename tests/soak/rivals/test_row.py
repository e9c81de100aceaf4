# SPDX-License-Identifier: Apache-2.0
"""A row of the table for each tool: from what its runs left to what is shown."""

from __future__ import annotations

import json


def raw(rank=1):
    block = {"seconds": 1.0, "cpu": 1.0, "longest": 0.1}
    pairs = [{"on": {**block, "cpu": 2.0}, "off": block} for _ in range(8)]
    readings = [{"requests": at, "named": "line" if rank else "nothing", "rank": rank, "own": "x"} for at in (200, 400)]
    naming = {"named": "line" if rank else "nothing", "conclusive": None, "readings": readings, "extra_bytes": 3 << 20}
    speed = {"pairs": pairs, "extra_bytes": 1 << 20}
    control = {"pairs": [{"on": block, "off": block}] * 8, "extra_bytes": 1 << 20}
    return {
        "phases": {"full": naming, "control": control, "throughput": speed},
        "longest_stop": {"seconds": 0.9, "cpu": 0.5},
    }


def test_a_row_compares_pairs_and_takes_the_control_off_the_memory():
    from rivals.registry import TOOLS
    from rivals.row import row_of

    row = row_of("tracemalloc-1", TOOLS["tracemalloc-1"], raw())
    assert row["throughput"]["cpu"] == {"median": 0.5, "low": 0.5, "high": 0.5}
    assert row["throughput"]["seconds"]["median"] == 1.0
    assert row["extra_bytes"] == 2 << 20
    assert row["full"]["best"] == 1
    assert row["separable"]


def test_a_control_that_does_not_repeat_tells_nothing():
    from rivals.registry import TOOLS
    from rivals.row import row_of
    from rivals.table import cells

    found = raw()
    blocks = [{"seconds": 1.0, "cpu": at, "longest": 0.1} for at in (0.1, 2.0, 0.5, 1.0, 3.0, 0.2, 0.3)]
    pairs = [{"on": on, "off": off} for on, off in zip(blocks, blocks[1:] + blocks[:1], strict=True)]
    found["phases"]["control"] = {"pairs": pairs, "extra_bytes": 0}
    assert "not separable" in cells(row_of("tracemalloc-1", TOOLS["tracemalloc-1"], found))


def test_the_table_has_a_line_for_each_tool_also_for_one_that_broke(tmp_path):
    from rivals.picture import draw
    from rivals.registry import TOOLS
    from rivals.row import row_of
    from rivals.table import HEAD, markdown

    rows = [row_of("tracemalloc-1", TOOLS["tracemalloc-1"], raw())]
    rows += [row_of("pympler", TOOLS["pympler"], {"failures": {"process": "stopped after 360 s"}})]
    lines = markdown(rows).splitlines()
    assert "0.50 [0.50-0.50]" in lines[2]
    assert "500 ms" in lines[2]
    assert "failed: process: stopped after 360 s" in lines[3]
    assert {line.count("|") for line in lines} == {len(HEAD) + 1}
    assert draw(rows, tmp_path / "a.png", "title").read_bytes().startswith(b"\x89PNG")


def test_the_table_can_be_made_anew_from_what_a_run_left(command, tmp_path, capsys):
    (tmp_path / "tracemalloc-1").mkdir()
    (tmp_path / "tracemalloc-1" / "result.json").write_text(json.dumps(raw()))
    (tmp_path / "pympler").mkdir()
    (tmp_path / "pympler" / "failure").write_text("stopped after 360 s")
    (tmp_path / "rivals.json").write_text(json.dumps({"engine": "e 1", "date": "2026-01-01", "rows": []}))
    command.again(tmp_path)
    printed = capsys.readouterr().out
    assert "tracemalloc(1)" in printed
    assert "failed: process: stopped after 360 s" in printed
    assert (tmp_path / "rivals.png").exists()


def test_what_works_beside_the_engine_is_told_by_its_steps_and_their_control():
    from rivals.registry import TOOLS
    from rivals.row import row_of
    from rivals.table import cells

    found = raw()
    block = {"seconds": 1.0, "cpu": 1.0}
    pairs = [{"on": {**block, "longest": at / 100}, "off": {**block, "longest": at / 1000}} for at in (5, 8, 3)]
    found["phases"]["beside"] = {"pairs": pairs, "actions": 3}
    row = row_of("memray-attach", TOOLS["memray-attach"], found)
    assert (row["gap"], row["gap_control"], row["actions"]) == (0.05, 0.005, 3)
    assert "50 ms between steps (without: 5 ms)" in cells(row)


def test_a_table_is_made_in_pieces(tmp_path):
    from rivals.pieces import clear, missing, note_failure

    plan = {"block": 400}
    (tmp_path / "rivals.json").write_text(json.dumps({"plan": plan}))
    for name, left in (("whole", {"finished": True}), ("cut", {"phases": {}})):
        (tmp_path / name).mkdir()
        (tmp_path / name / "result.json").write_text(json.dumps(left))
    names = ["whole", "cut", "later"]
    assert missing(names, tmp_path, plan, anew=False) == ["cut", "later"]
    note_failure(["cut", "later"], tmp_path, "ended with status 1")
    assert missing(names, tmp_path, plan, anew=False) == ["later"]
    note_failure(["later"], tmp_path, "ended with status 1")
    assert missing(names, tmp_path, plan, anew=False) == []
    clear(["later"], tmp_path)
    assert missing(names, tmp_path, plan, anew=False) == ["later"]
    assert missing(names, tmp_path, plan, anew=True) == names


def test_rows_of_another_plan_are_not_kept(tmp_path):
    from rivals.pieces import missing

    (tmp_path / "rivals.json").write_text(json.dumps({"plan": {"block": 100}}))
    (tmp_path / "whole").mkdir()
    (tmp_path / "whole" / "result.json").write_text('{"finished": true}')
    assert missing(["whole"], tmp_path, {"block": 400}, anew=False) == ["whole"]
    assert not (tmp_path / "whole").exists()


def test_what_a_core_in_a_child_costs_is_told_by_the_clock():
    from rivals.registry import TOOLS
    from rivals.row import row_of
    from rivals.table import cells

    row = row_of("vllm-soak-child", TOOLS["vllm-soak-child"], raw())
    assert row["unit"] == "seconds"
    assert "1.00 [1.00-1.00]" in cells(row)
