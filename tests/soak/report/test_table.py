# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from dataclasses import replace

from vllm_soak.report.table import build_table, short_names
from vllm_soak.store.record import RunData


def shown(table):
    return {row.name: [str(cell) for cell in row.cells] for row in table.rows}


def test_the_table_of_the_upstream_fix(ab_run, ab_verdict):
    table = build_table(ab_run, ab_verdict)
    rows = shown(table)
    assert table.columns == ["unpatched", "patched"]
    assert list(rows) == [
        "requests measured",
        "bytes in use",
        "length of new_block_ids",
        "bytes per entry of new_block_ids",
        "freed by gc",
        "returned by trim",
        "throughput (all rounds)",
        "patched / unpatched, median of pairs",
    ]
    assert rows["requests measured"] == ["3,000 (in 5 rounds)"] * 2
    assert rows["length of new_block_ids"] == ["25,200 → 67,200 (+42,000)", "0 → 0 (no growth)"]
    assert rows["bytes per entry of new_block_ids"] == ["8.85 B", ""]
    assert rows["patched / unpatched, median of pairs"] == ["", "1.003 x (0.994 to 1.011)"]


def test_numbers_stand_beside_their_text(ab_run, ab_verdict):
    rows = {row.name: row.cells for row in build_table(ab_run, ab_verdict).rows}
    before, after = rows["bytes in use"][0].before, rows["bytes in use"][0].after
    samples = ab_run.arms[0].samples
    assert (before, after) == (samples[2].values["in_use"], samples[-1].values["in_use"])
    assert rows["length of new_block_ids"][0].after == 67_200


def test_an_arm_whose_census_does_not_name_the_container(ab_run, ab_verdict):
    unpatched, patched = ab_run.arms
    patched = replace(patched, samples=[replace(one, lengths={}) for one in patched.samples])
    rows = shown(build_table(replace(ab_run, arms=[unpatched, patched]), ab_verdict))
    assert rows["length of new_block_ids"][1] == "did not grow"
    patched = replace(patched, censuses=[])
    rows = shown(build_table(replace(ab_run, arms=[unpatched, patched]), ab_verdict))
    assert rows["length of new_block_ids"][1] == "n/a"


def test_several_processes_each_have_a_row(ab_run, ab_verdict):
    for arm in ab_run.arms:
        arm.samples.extend([replace(one, process="APIServer") for one in arm.samples])
    rows = shown(build_table(ab_run, ab_verdict))
    assert "bytes in use (EngineCore)" in rows
    assert "bytes in use (APIServer)" in rows


def test_what_no_arm_has_is_left_out(leak_run, leak_verdict):
    bare = replace(leak_run.arms[0], samples=[], rounds=[], populations=[], censuses=[])
    rows = shown(build_table(replace(leak_run, arms=[bare]), replace(leak_verdict, arms=[])))
    assert rows == {}


def test_a_run_without_arms_has_an_empty_table(leak_verdict):
    table = build_table(RunData({}, "failed", ""), replace(leak_verdict, arms=[]))
    assert table.columns == []


def test_watched_paths_are_shown_from_before_to_after(leak_run, leak_verdict):
    samples = [
        replace(one, lengths={"engine.a.ids": one.requests, "engine.b.ids": 7}) for one in leak_run.arms[0].samples
    ]
    watch = ["engine.a.ids", "engine.b.ids", "engine.lost"]
    run = replace(leak_run, plan={"watch": watch}, arms=[replace(leak_run.arms[0], samples=samples)])
    rows = shown(build_table(run, leak_verdict))
    assert rows["length of a.ids"] == ["1,800 → 4,800 (+3,000)"]
    assert rows["length of b.ids"] == ["7 → 7 (no growth)"]
    assert rows["length of engine.lost"] == ["not found"]


def test_a_watched_culprit_has_one_row(leak_run, leak_verdict):
    path = leak_verdict.arms[0].processes[0].suspects[0].path
    rows = [row.name for row in build_table(replace(leak_run, plan={"watch": [path]}), leak_verdict).rows]
    assert rows.count("length of new_block_ids") == 1


def test_short_names_tell_paths_apart():
    assert short_names(["engine.a.ids", "engine.map"]) == ["ids", "map"]
    assert short_names(["x.a.ids", "x.b.ids"]) == ["a.ids", "b.ids"]
    assert short_names(["a", "x.a"]) == ["a", "x.a"]
    assert short_names([]) == []


def test_bytes_per_entry_that_are_a_lower_bound_are_said_to_be(leak_run, leak_verdict):
    [arm] = leak_verdict.arms
    [process] = arm.processes
    suspects = [replace(one, bytes_at_least=True) for one in process.suspects]
    verdict = replace(leak_verdict, arms=[replace(arm, processes=[replace(process, suspects=suspects)])])
    assert shown(build_table(leak_run, verdict))["bytes per entry of new_block_ids"] == ["at least 8.85 B"]
    assert shown(build_table(leak_run, leak_verdict))["bytes per entry of new_block_ids"] == ["8.85 B"]
