# SPDX-License-Identifier: Apache-2.0
"""What of the benchmark against other tools needs no engine: who named what, when, and how it is shown."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

LINES = [277, 310]


@pytest.fixture(scope="module", autouse=True)
def _importable(root):
    sys.path.insert(0, str(root / "benchmarks"))
    yield
    sys.path.remove(str(root / "benchmarks"))


@pytest.fixture(scope="module")
def command(root):
    spec = importlib.util.spec_from_file_location("rivals_command", root / "benchmarks" / "rivals.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("/e/vllm/v1/core/single_type_kv_cache_manager.py:277: +34560 B", "line"),
        ('File "/e/single_type_kv_cache_manager.py", line 310 self.new_block_ids.extend(', "line"),
        ("/e/vllm/v1/core/single_type_kv_cache_manager.py:278: 12 B", "nothing"),
        ("/e/vllm/v1/core/block_pool.py:310: 9000 B", "nothing"),
        ("leak: MainThread/serve engine.scheduler.single_type_managers[0].new_block_ids", "path"),
        ("Root._f0_f_locals['x'].__dict__['single_type_managers'][0].__dict__['new_block_ids']", "path"),
        ("Root.t1.new_block_ids_to_zero", "nothing"),
        ("list 123 +4", "nothing"),
    ],
)
def test_code_decides_what_a_finding_names(text, expected):
    from rivals.evidence import named

    assert named(text, LINES) == expected


def test_the_lines_are_those_that_make_the_list_longer():
    from rivals.evidence import growing_lines

    source = (
        "self.new_block_ids = []\nself.new_block_ids.extend(x)\nids = self.new_block_ids\nself.new_block_ids += y\n"
    )
    assert growing_lines(source) == [2, 4]


@given(st.lists(st.sampled_from([None, 1, 1, 1, 2, 7])))
def test_conclusive_is_the_end_of_the_first_three_firsts_in_a_row(ranks):
    from rivals.evidence import conclusive

    readings = [{"rank": rank, "requests": 200 * at} for at, rank in enumerate(ranks, 1)]
    firsts = [at for at in range(3, len(ranks) + 1) if ranks[at - 3 : at] == [1, 1, 1]]
    assert conclusive(readings) == (200 * firsts[0] if firsts else None)


@given(st.lists(st.sampled_from(["int 5", "a.single_type_managers[0].new_block_ids"])))
def test_the_rank_is_that_of_the_first_finding_that_names_it(findings):
    from rivals.evidence import place

    wanted = [at for at, text in enumerate(findings, 1) if "managers" in text]
    assert place(findings, []) == (("path", wanted[0]) if wanted else ("nothing", None))


def test_every_adapter_is_there_without_its_tool():
    from rivals.adapter import Adapter
    from rivals.registry import TOOLS, adapter_class

    assert all(issubclass(adapter_class(name), Adapter) for name in TOOLS)
    assert [name for name in TOOLS if adapter_class(name).child] == ["memray-attach", "vllm-soak-child"]


def test_tracemalloc_names_the_line_that_grows_a_list(tmp_path):
    from rivals.tracing import Tracemalloc

    tool, held = Tracemalloc(tmp_path), []
    tool.start()
    held.extend(bytearray(1_000_000) for _ in range(5))  # this line
    reading = tool.read(1)
    tool.stop()
    assert reading.lines[0].startswith(f"{__file__}:")
    assert reading.stop["seconds"] > 0


def test_vmrss_has_a_slope_and_no_names(tmp_path):
    from rivals.vmrss import VmRss

    tool, held = VmRss(tmp_path), []
    tool.start()
    for requests in range(4):
        held.append(b"x" * 20_000_000)
        assert tool.read(requests).lines == []
    tool.stop()
    assert tool.facts()["slopes"][0] > 10_000_000


def test_a_peak_that_is_over_is_seen():
    from rivals.clock import Peak

    peak = Peak(os.getpid())
    data = b"x" * 200_000_000
    del data
    assert not peak.known or peak.extra() > 150_000_000


def test_the_step_clock_sees_the_longest_wait():
    from rivals.clock import StepClock

    class Slow:
        vocab_size = 3
        submit = busy = facts = None

        def step(self):
            import time

            time.sleep(0.05)
            return []

    clock = StepClock(Slow())
    clock.step()
    assert clock.longest >= 0.05
    clock.reset()
    assert clock.longest == 0


def record(requests, lengths):
    rows = [
        {"path": path, "template": path, "fingerprint": path, "type": "list", "length": length, "shallow_bytes": 56}
        | {"bound": bound, "bound_reason": "so many blocks" if bound else "", "grown": 14 * 200}
        for path, (length, bound) in lengths.items()
    ]
    census = {"objects": 9, "containers": 9, "seconds": 0.1, "walker": "python", "partial": "", "populations": rows}
    return {"requests": requests, "process": "LLM", "values": {"in_use": 1e9}, "census": census}


def test_our_own_answer_is_the_verdict_over_the_rounds():
    from rivals.verdict import judged

    path = "engine.single_type_managers[0].new_block_ids"
    counts = range(0, 1001, 200)
    records = [record(n, {path: (5000 + 14 * n, None), "cache": (100 + 14 * n, 30_000)}) for n in counts]
    records[0] = record(0, {})  # the census that the first window is compared with names nothing
    found = judged(records)
    assert found["conclusive"] == 600
    assert found["leaks"] == [path]
    assert [reading["rank"] for reading in found["readings"]] == [None, None, 1, 1, 1]


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


def test_a_tool_that_hangs_is_ended_and_one_that_fails_is_told_apart(command, tmp_path):
    wait = [sys.executable, "-c", "import time; time.sleep(600)"]
    assert command.follow(wait, dict(os.environ), tmp_path / "log", 0.5).startswith("stopped after")
    assert (
        command.follow([sys.executable, "-c", "exit(3)"], dict(os.environ), tmp_path / "log", 300)
        == "ended with status 3"
    )
    assert command.follow([sys.executable, "-c", ""], dict(os.environ), tmp_path / "log", 300) == ""


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


def test_only_what_looks_into_the_child_has_an_engine_of_its_own(command):
    from rivals.registry import TOOLS

    found = command.groups(list(TOOLS))
    assert found[1:] == [["memray-attach"], ["vllm-soak-child"]]
    assert sorted(name for group in found for name in group) == sorted(TOOLS)


@pytest.mark.parametrize(
    ("body", "expected"),
    [("pass", ""), ("raise SystemExit(3)", "ended with status 1"), ("time.sleep(600)", "stopped after 5 s")],
)
def test_a_fork_says_how_it_failed_and_is_ended_in_time(body, expected, root, tmp_path):
    code = f"""
import sys, time
from pathlib import Path
from rivals.forked import fork
def action():
    print("in the fork", flush=True)
    {body}
print(fork(action, Path(sys.argv[1]), 300 if "sleep" not in {body!r} else 5))
"""
    line = [sys.executable, "-c", code, str(tmp_path / "log")]
    where = {**os.environ, "PYTHONPATH": str(root / "benchmarks")}
    done = subprocess.run(line, env=where, capture_output=True, text=True, check=True, timeout=600)
    assert done.stdout.strip() == expected
    assert (tmp_path / "log").read_text().startswith("in the fork")


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
