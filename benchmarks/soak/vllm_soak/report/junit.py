# SPDX-License-Identifier: Apache-2.0
"""`report.junit.xml`: one test case for each process, for dashboards of CI systems."""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

from vllm_soak.errors import ExitCode
from vllm_soak.report.ladder import draw_ladder
from vllm_soak.report.measure import leaks
from vllm_soak.report.printable import printable
from vllm_soak.verdict.judge import LEAKS
from vllm_soak.verdict.outcome import Outcome

if TYPE_CHECKING:
    from vllm_soak.store.record import RunData
    from vllm_soak.verdict.outcome import ProcessVerdict, RunVerdict


def render_junit(run: RunData, verdict: RunVerdict) -> str:
    """The verdict as JUnit XML.

    A leak is a failure, unless the whole run ends clean because the patched arm does not have
    it; an inconclusive process is skipped; an arm whose engine failed is an error. A run that is not clean although
    each of its processes is has a case of its own.
    """
    suite = ET.Element("testsuite", name="vllm-soak", timestamp=printable(run.started))
    expected = verdict.exit_code == ExitCode.CLEAN
    for arm in verdict.arms:
        for process in arm.processes:
            suite.append(case(arm.arm, process, expected=expected))
    failures = [(arm.name, arm.failure) for arm in run.arms if arm.failure]
    for name, failure in failures:
        add(new_case(name, "engine"), "error", failure, suite)
    if not len(suite) or (not expected and all(len(one) == 0 for one in suite)):
        kind = "error" if verdict.exit_code == ExitCode.ENGINE_FAILED else "skipped"
        add(new_case("run", "verdict"), kind, verdict.reason, suite)
    count_cases(suite)
    ET.indent(suite)
    return ET.tostring(suite, encoding="unicode", xml_declaration=False) + "\n"


def case(arm: str, process: ProcessVerdict, *, expected: bool) -> ET.Element:
    """One process of one arm."""
    found = new_case(arm, process.process)
    if process.outcome in LEAKS:
        drawn = "\n\n".join(str(draw_ladder(arm, process, one)) for one in leaks(process))
        where = ET.SubElement(found, "system-out" if expected else "failure")
        where.text = drawn or printable(process.reason)
        if not expected:
            where.set("type", process.outcome.value)
            where.set("message", printable(process.reason))
    elif process.outcome == Outcome.INCONCLUSIVE:
        ET.SubElement(found, "skipped", message=printable(process.reason))
    return found


def new_case(arm: str, name: str) -> ET.Element:
    """An empty test case."""
    return ET.Element("testcase", classname=f"vllm-soak.{printable(arm)}", name=printable(name))


def add(found: ET.Element, kind: str, message: str, suite: ET.Element) -> None:
    """Put a case with one remark into the suite."""
    ET.SubElement(found, kind, message=printable(message))
    suite.append(found)


def count_cases(suite: ET.Element) -> None:
    """Write the totals that readers of JUnit files expect."""
    suite.set("tests", str(len(suite)))
    for name, kind in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        suite.set(name, str(len(suite.findall(f"testcase/{kind}"))))
