# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from dataclasses import replace
from xml.etree import ElementTree as ET

import pytest

from vllm_soak.errors import ExitCode
from vllm_soak.report.junit import render_junit
from vllm_soak.store.record import Arm, RunData
from vllm_soak.verdict.outcome import ArmVerdict, Outcome, ProcessVerdict, RunVerdict


def totals(suite):
    return {name: int(suite.get(name)) for name in ("tests", "failures", "errors", "skipped")}


def test_a_leak_is_a_failure_with_its_ladder(leak_run, leak_verdict):
    suite = ET.fromstring(render_junit(leak_run, leak_verdict))
    assert totals(suite) == {"tests": 1, "failures": 1, "errors": 0, "skipped": 0}
    failure = suite.find("testcase/failure")
    assert failure.get("type") == "leak"
    assert "new_block_ids" in failure.text


def test_a_leak_that_the_patch_cures_passes(ab_run, ab_verdict):
    suite = ET.fromstring(render_junit(ab_run, ab_verdict))
    assert totals(suite) == {"tests": 2, "failures": 0, "errors": 0, "skipped": 0}
    assert "new_block_ids" in suite.find("testcase/system-out").text


def test_doubt_is_skipped_and_a_dead_engine_is_an_error():
    process = ProcessVerdict("Engine<Core>", 1, Outcome.INCONCLUSIVE, "few", "too few \x00 rounds")
    arm = ArmVerdict("run", Outcome.INCONCLUSIVE, "", [process])
    run = RunData({}, "failed", "", [Arm("run", failure="killed & gone")])
    suite = ET.fromstring(render_junit(run, RunVerdict(Outcome.INCONCLUSIVE, ExitCode.ENGINE_FAILED, "", [arm])))
    assert totals(suite) == {"tests": 2, "failures": 0, "errors": 1, "skipped": 1}
    assert suite.find("testcase/error").get("message") == "killed & gone"


def test_a_run_without_processes_is_still_one_case(leak_verdict):
    text = render_junit(RunData({}, "running", ""), replace(leak_verdict, arms=[]))
    assert totals(ET.fromstring(text)) == {"tests": 1, "failures": 0, "errors": 0, "skipped": 1}


@pytest.mark.parametrize(("code", "kind"), [(ExitCode.INCONCLUSIVE, "skipped"), (ExitCode.ENGINE_FAILED, "errors")])
def test_a_run_that_is_not_clean_is_no_row_of_passed_cases(code, kind):
    process = ProcessVerdict("EngineCore", 1, Outcome.NO_LEAK, "nothing-grew", "")
    verdict = RunVerdict(Outcome.INCONCLUSIVE, code, "only it", [ArmVerdict("patched", Outcome.NO_LEAK, "", [process])])
    suite = ET.fromstring(render_junit(RunData({}, "finished", "", [Arm("patched")]), verdict))
    assert totals(suite) == {"tests": 2, "failures": 0, "errors": 0, "skipped": 0} | {kind: 1}
