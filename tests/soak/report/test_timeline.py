# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import io
import json
import random
from dataclasses import replace

import pytest
from jsonschema import Draft202012Validator
from rich.console import Console

from vllm_soak.report.figure import as_png, as_svg
from vllm_soak.report.json_report import load_schema, render_json
from vllm_soak.report.observed import process_lines, step_lines
from vllm_soak.report.terminal import print_report
from vllm_soak.report.timeline import MOST_POINTS, Line, draw, line_of, plan_timelines, unbroken
from vllm_soak.report.write import write_reports
from vllm_soak.store.outside import CLIENT, HOST, SERVER, TREE, Capture, LevelStep, Point, ProcessEvent
from vllm_soak.store.record import Arm, RunData

STEP_AT, LENGTH = 900, 1500


@pytest.fixture
def served():
    """A server observed for 25 minutes: a step at 15, a pause at 5, a restart at 20."""
    noise = random.Random(1)
    arm = Arm("run")
    for second in range(LENGTH):
        if 300 <= second < 330:
            continue
        p50 = (0.27 if second < STEP_AT else 0.37) * noise.uniform(0.9, 1.1)
        rows = [
            ("APIServer", 10, {"in_use": 400e6}),
            ("EngineCore", 11, {"in_use": 1200e6 + 2e4 * second}),
            (TREE, 0, {"in_use": 1600e6 + 2e4 * second}),
            (HOST, 0, {"mem_available": 20e9}),
            (CLIENT, 0, {"latency_p50": p50, "latency_p99": 1.8 * p50, "cpu_per_request": 0.0065}),
        ]
        rows += [(SERVER, 0, {"running": 60.0, "waiting": 4.0})] if second % 5 == 0 else []
        arm.points.extend(Point("run", float(second), name, pid, 200 * second, values) for name, pid, values in rows)
    changes = {"latency_p50": [0.27, 0.37], "throughput": [237.0, 173.0]}
    arm.level_steps.append(LevelStep("run", 900.0, 944.0, 188_800, changes, "latency_p50 rose by 37 %"))
    files = ["stacks-EngineCore.txt", "gc-EngineCore.json", "host.txt", "seconds.csv"]
    arm.captures.append(Capture("run", 60.0, 3.0, "baseline", "captures/run-baseline", files))
    arm.captures.append(Capture("run", 944.0, 3.1, "latency_p50 rose by 37 %", "captures/run-1", files, ["no NVML"]))
    arm.process_events.append(ProcessEvent("run", 1.0, "appeared", "EngineCore", 11))
    arm.process_events.append(ProcessEvent("run", 1200.0, "restarted", "EngineCore", 12, "pid 11 before"))
    return RunData({}, "finished", "2026-01-31T12:00:00Z", [arm])


def test_the_pictures_of_a_served_run(served):
    plots = {one.name: one for one in plan_timelines(served)}
    assert plots.keys() == {"timeline-latency", "timeline-cpu", "timeline-memory", "timeline-requests"}
    assert plots["timeline-latency"].marks == [(900.0, "step 1")]
    assert plots["timeline-latency"].caption.endswith("; step 1 at 15 min 0 s, captured in captures/run-1/.")
    assert plots["timeline-memory"].marks == [(1200.0, "restarted")]
    assert [line.label for line in plots["timeline-memory"].lines] == ["all processes", "EngineCore", "APIServer"]
    for name, plot in plots.items():
        figure = draw(plot)
        assert as_png(figure).startswith(b"\x89PNG")
        assert "step 1" in as_svg(figure, name) or name in {"timeline-memory", "timeline-requests"}


def test_two_arms_have_pictures_of_their_own(served):
    (arm,) = served.arms
    other = Arm("patched", points=arm.points)
    names = [one.name for one in plan_timelines(RunData({}, "finished", "", [arm, other]))]
    assert {"timeline-latency-run", "timeline-latency-patched"} <= set(names)
    assert len(names) == len(set(names)) == 8


def test_a_run_without_points_has_none(leak_run):
    assert plan_timelines(leak_run) == []
    assert (step_lines(leak_run), process_lines(leak_run)) == ([], [])


def test_a_long_series_is_thinned_and_a_pause_breaks_the_line(served):
    line = line_of(served.arms[0], CLIENT, "latency_p50", "p50")
    assert len(line.values) <= MOST_POINTS
    first, second = unbroken(line)
    assert first[0][-1] < 300 < second[0][0]


def test_a_line_of_one_point_or_none():
    assert unbroken(Line("x", [1.0], [2.0])) == [([1.0], [2.0])]
    assert unbroken(Line("x", [], [])) == [([], [])]


def test_a_step_stands_with_its_capture(served):
    step, capture, baseline = step_lines(served)
    assert step == (
        "step 1 at 15 min 0 s (188,800 requests): median latency 270 ms → 370 ms (+37 %); "
        "throughput 237 requests/s → 173 requests/s (-27 %); seen 44.0 s later"
    )
    assert capture == "capture (latency_p50 rose by 37 %) in captures/run-1/: stacks, gc, host, seconds; no NVML"
    assert baseline.startswith("capture (baseline) in captures/run-baseline/")
    served.arms[0].captures.clear()
    assert step_lines(served)[1] == "no capture was taken of step 1"


def test_a_step_of_the_machine_says_so(served):
    around = "tasks waited for a core 3 % of the time before and 45 % after"
    served.arms[0].level_steps[0] = replace(
        served.arms[0].level_steps[0], reason=f"latency_p50 rose by 37 % ({around})"
    )
    assert step_lines(served)[0].endswith(f"; {around}; seen 44.0 s later")


def test_deaths_and_restarts_are_told_and_bounded(served):
    assert process_lines(served) == ["at 20 min 0 s EngineCore (pid 12) restarted (pid 11 before)"]
    served.arms[0].process_events.extend(ProcessEvent("run", 5.0, "died", f"w{n}", n) for n in range(40))
    assert len(process_lines(served)) == 21
    assert process_lines(served)[-1] == "21 more in run.sqlite"


def test_json_has_what_was_observed_and_follows_its_schema(served, leak_run, leak_verdict):
    arm = leak_run.arms[0]
    for name in ("points", "level_steps", "captures", "process_events"):
        getattr(arm, name).extend(getattr(served.arms[0], name))
    report = json.loads(render_json(leak_run, leak_verdict))
    Draft202012Validator(load_schema()).validate(report)
    found = report["arms"][0]
    assert found["level_steps"][0]["changes"]["latency_p50"] == [0.27, 0.37]
    assert [one["folder"] for one in found["captures"]] == ["captures/run-baseline", "captures/run-1"]
    assert found["forecast"]["hours"] > 0
    assert found["forecast"]["text"].startswith("reaches the machine's memory")


def test_every_report_says_it(served, leak_run, leak_verdict, tmp_path):
    for name in ("points", "level_steps", "captures", "process_events"):
        getattr(leak_run.arms[0], name).extend(getattr(served.arms[0], name))
    write_reports(leak_run, leak_verdict, tmp_path)
    console = Console(file=io.StringIO(), width=120)
    print_report(leak_run, leak_verdict, console, [])
    pages = [(tmp_path / name).read_text() for name in ("report.html", "report.md")]
    for page in (*pages, console.file.getvalue()):
        text = " ".join(page.replace("\\", "").split())
        assert "Steps and captures" in text
        assert "median latency 270 ms → 370 ms" in text
        assert "captures/run-1/" in text
        assert "memory (" in text
    assert "Request latency over time" in pages[0]
    assert (tmp_path / "plots" / "timeline-latency.png").exists()
    assert "plots/timeline-latency.png" in pages[1]
