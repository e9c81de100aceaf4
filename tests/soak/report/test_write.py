# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import io
import json
import subprocess
import sys
from dataclasses import replace
from xml.etree import ElementTree as ET

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from rich.console import Console

from vllm_soak.errors import ExitCode
from vllm_soak.report.json_report import load_schema
from vllm_soak.report.write import print_report, write_reports
from vllm_soak.store.record import Arm, Census, Event, PatchRow, Population, Round, RunData, Sample, Step
from vllm_soak.verdict.outcome import (
    ArmVerdict,
    Outcome,
    ProcessVerdict,
    Ratio,
    Reconciliation,
    RunVerdict,
    Slope,
    Suspect,
)


def test_every_report_is_written(ab_run, ab_verdict, tmp_path):
    files, unwritten = write_reports(ab_run, ab_verdict, tmp_path / "run")
    assert unwritten == ""
    assert [path.relative_to(tmp_path / "run").as_posix() for path in files] == [
        "report.html", "report.md", "report.json", "report.junit.xml",
        "plots/in-use.png", "plots/length.png", "plots/latency.png",
    ]  # fmt: skip
    assert all(path.stat().st_size > 500 for path in files)
    assert (tmp_path / "run" / "report.html").read_text("utf-8").count("<svg") == 3


def test_writing_again_gives_the_same_files(ab_run, ab_verdict, tmp_path):
    first = {path.name: path.read_bytes() for path in write_reports(ab_run, ab_verdict, tmp_path)[0]}
    second = {path.name: path.read_bytes() for path in write_reports(ab_run, ab_verdict, tmp_path)[0]}
    assert first == second


def test_a_folder_that_cannot_be_made_is_one_sentence(ab_run, ab_verdict, tmp_path):
    (tmp_path / "run").write_text("a file")
    files, unwritten = write_reports(ab_run, ab_verdict, tmp_path / "run")
    assert files == []
    assert unwritten.startswith("report.json, report.junit.xml, ")
    assert "could not be written (cannot make the folder" in unwritten
    assert f"`vllm-soak report {tmp_path / 'run'}`" in unwritten
    assert "\n" not in unwritten


def test_one_file_that_cannot_be_written_keeps_no_other_from_it(ab_run, ab_verdict, tmp_path):
    (tmp_path / "plots").write_text("in the way")
    files, unwritten = write_reports(ab_run, ab_verdict, tmp_path)
    assert [path.name for path in files] == ["report.html", "report.md", "report.json", "report.junit.xml"]
    assert unwritten.startswith("plots/in-use.png, plots/length.png, plots/latency.png could not be written")
    assert "plots/" not in (tmp_path / "report.md").read_text("utf-8")


def test_matplotlib_is_not_imported_to_print():
    code = "import sys, vllm_soak.report.write; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False, env=None).returncode == 0


# A run can stop anywhere: any part may be missing, and what the engine says may be anything.
words = st.text(max_size=12) | st.sampled_from(["EngineCore", "a[0]['b']", "[/red]", "<b>&", "\x1b[31m", "a.b|c`d"])
arm_names = st.sampled_from(["unpatched", "patched", "run"])
processes = st.sampled_from(["EngineCore", "APIServer", "<w>[1]"])
paths = st.sampled_from(["engine.a", "engine.b['x']", ""])
whole = st.integers(0, 10**12)
small = st.integers(0, 40)
signed = st.integers(-(10**12), 10**12)
reals = st.floats() | st.floats(0, 1e9)
phases = st.sampled_from(["warm-up", "measured"])
steps = st.lists(st.builds(Step, words, words), max_size=4)
names = st.sampled_from(["in_use", "rss_anon", "swap", "gc_freed", "trim_returned", "rss"])


def few(inner):
    return st.lists(inner, max_size=4)


samples = st.builds(
    Sample, arm_names, processes, whole, phases, small, whole, reals,
    st.dictionaries(names, reals), st.dictionaries(paths, whole),
)  # fmt: skip
histograms = st.just({}) | st.fixed_dictionaries({"bounds": few(reals), "counts": few(whole), "sum": reals})
rounds = st.builds(
    Round, arm_names, small, phases, whole, whole, reals, whole, whole, histograms, few(st.tuples(whole, reals))
)
populations = st.builds(
    Population, arm_names, processes, small, whole, paths, paths, st.just("f"), words, whole, whole,
    st.none() | reals, st.none() | whole, words, steps, few(words),
)  # fmt: skip
arms = st.builds(
    Arm,
    arm_names,
    st.dictionaries(st.sampled_from(["name", "version", "python", "x"]), words | reals | st.none()),
    few(rounds),
    few(samples),
    few(st.builds(Census, arm_names, processes, small, whole, whole, whole, reals, words, words)),
    few(populations),
    few(st.builds(PatchRow, arm_names, processes, words, words, words, words, words)),
    words,
)
plans = st.dictionaries(
    st.sampled_from(["engine", "rounds", "ab", "watch", "workload", "model", "max_requests"]),
    words | whole | few(words),
)
runs = st.builds(
    RunData,
    plans,
    st.sampled_from(["running", "finished", "interrupted", "failed"]),
    words,
    few(arms),
    few(st.builds(Event, words, reals, st.sampled_from(["info", "warning", "error"]), words)),
)
outcomes = st.sampled_from(Outcome)
suspects = st.builds(
    Suspect, processes, paths, paths, st.just("f"), words, steps, whole, whole, few(signed), few(whole), reals, reals,
    reals, outcomes, words, words, st.none() | whole, words, words, words, words,
)  # fmt: skip
process_verdicts = st.builds(
    ProcessVerdict, processes, whole, outcomes, words, words, few(suspects),
    st.none() | st.builds(Slope, reals, reals, reals, small),
    st.none() | st.builds(Reconciliation, reals, reals, reals, reals, reals),
    st.none() | reals, few(words), words,
)  # fmt: skip
verdicts = st.builds(
    RunVerdict,
    outcomes,
    st.sampled_from(ExitCode),
    words,
    few(st.builds(ArmVerdict, arm_names, outcomes, words, few(process_verdicts))),
    st.none() | st.builds(Ratio, reals, reals, reals, small),
)


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(runs, verdicts, st.sampled_from([20, 80, 200]))
def test_whatever_is_left_of_a_run_gives_a_report(tmp_path_factory, run, verdict, width):
    folder = tmp_path_factory.mktemp("run")
    files, _ = write_reports(run, verdict, folder)
    report = json.loads((folder / "report.json").read_text("utf-8"))
    Draft202012Validator(load_schema()).validate(report)
    ET.parse(folder / "report.junit.xml")
    console = Console(file=io.StringIO(), width=width, force_terminal=False)
    print_report(run, verdict, console, files)
    shown = console.file.getvalue()
    assert "Next" in shown
    assert "\x1b" not in shown


def test_a_run_that_died_at_once_still_says_what_to_do(tmp_path):
    run = RunData({}, "failed", "", [Arm("run", failure="no free memory for the KV cache")])
    verdict = RunVerdict(Outcome.INCONCLUSIVE, ExitCode.ENGINE_FAILED, "the engine failed")
    files, _ = write_reports(run, verdict, tmp_path)
    console = Console(file=io.StringIO(), width=80, force_terminal=False)
    print_report(run, verdict, console, files)
    shown = console.file.getvalue()
    assert "ENGINE FAILED" in shown
    assert "no free memory for the KV cache" in shown
    assert "vllm-soak run --debug" in shown


def test_missing_latency_leaves_out_its_plot_only(leak_run, leak_verdict, tmp_path):
    arm = leak_run.arms[0]
    arm.rounds[:] = [replace(one, latency={}) for one in arm.rounds]
    names = [path.name for path in write_reports(leak_run, leak_verdict, tmp_path)[0]]
    assert "latency.png" not in names
    assert {"in-use.png", "length.png"} <= set(names)
