# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from dataclasses import replace

import pytest
import synthetic_series as made
from hypothesis import given, settings
from hypothesis import strategies as st

from vllm_soak.errors import ExitCode
from vllm_soak.store.record import MEASURED, WARM_UP, Arm, RunData
from vllm_soak.verdict.judge import judge
from vllm_soak.verdict.outcome import Outcome

KNOWN = "engine.scheduler.single_type_managers[0].new_block_ids"
OTHER = "engine.scheduler.events"
MIB = 1 << 20


def leaking(name: str, *paths: str, points: int = 7) -> Arm:
    lengths = [28_000.0 * n for n in range(1, points + 1)]
    return made.arm([5e8] * points, [made.Container(lengths, path) for path in paths], name=name)


def clean(name: str) -> Arm:
    return made.arm([5e8] * 7, name=name)


def native(name: str) -> Arm:
    return made.arm([5e8 + MIB * n for n in range(7)], name=name)


def short(name: str) -> Arm:
    return made.arm([5e8] * 4, name=name)


@pytest.mark.parametrize(
    ("arm", "outcome", "code"),
    [
        (leaking("run", KNOWN), Outcome.LEAK, ExitCode.LEAK),
        (native("run"), Outcome.LEAK_NATIVE, ExitCode.LEAK),
        (clean("run"), Outcome.NO_LEAK, ExitCode.CLEAN),
        (short("run"), Outcome.INCONCLUSIVE, ExitCode.INCONCLUSIVE),
        (Arm("run"), Outcome.INCONCLUSIVE, ExitCode.INCONCLUSIVE),
        (leaking("unpatched", KNOWN), Outcome.LEAK, ExitCode.LEAK),
        (clean("unpatched"), Outcome.INCONCLUSIVE, ExitCode.INCONCLUSIVE),
    ],
    ids=["leak", "native", "clean", "short", "empty", "half an A/B run, leaking", "half an A/B run, clean"],
)
def test_one_arm(arm: Arm, outcome: Outcome, code: ExitCode) -> None:
    found = judge(made.run(arm))
    assert (found.outcome, found.exit_code, found.throughput) == (outcome, code, None)
    assert found.reason


@pytest.mark.parametrize("values", [{"gc_freed": 3.0 * MIB}, {"trim_returned": 30.0 * MIB}])
def test_what_can_be_got_back_is_clean(values: dict[str, float]) -> None:
    assert judge(made.run(made.arm([1e8] * 7, values=values))).exit_code is ExitCode.CLEAN


@pytest.mark.parametrize(
    ("unpatched", "patched", "outcome", "code", "words"),
    [
        (leaking("unpatched", KNOWN), clean("patched"), Outcome.NO_LEAK, ExitCode.CLEAN, "as known (new-block-ids)"),
        (clean("unpatched"), clean("patched"), Outcome.NO_LEAK, ExitCode.CLEAN, "neither arm leaks"),
        (leaking("unpatched", KNOWN), leaking("patched", KNOWN), Outcome.LEAK, ExitCode.LEAK, "patched arm leaks"),
        (leaking("unpatched", KNOWN, OTHER), clean("patched"), Outcome.LEAK, ExitCode.LEAK, OTHER),
        (native("unpatched"), clean("patched"), Outcome.LEAK_NATIVE, ExitCode.LEAK, "no patch treats"),
        (clean("unpatched"), native("patched"), Outcome.LEAK_NATIVE, ExitCode.LEAK, "patched arm leaks"),
        (leaking("unpatched", KNOWN), short("patched"), Outcome.INCONCLUSIVE, ExitCode.INCONCLUSIVE, "patched arm is"),
        (short("unpatched"), clean("patched"), Outcome.INCONCLUSIVE, ExitCode.INCONCLUSIVE, "unpatched arm is"),
    ],
    ids=["fixed", "healthy", "not fixed", "another leak", "native", "patch leaks", "patched short", "unpatched short"],
)
def test_two_arms(unpatched: Arm, patched: Arm, outcome: Outcome, code: ExitCode, words: str) -> None:
    found = judge(made.run(unpatched, patched))
    assert (found.outcome, found.exit_code) == (outcome, code)
    assert words in found.reason
    assert found.throughput is not None
    assert found.throughput.median == 1.0


def test_a_leak_of_any_process_is_the_arms() -> None:
    arm = leaking("run", KNOWN)
    quiet = clean("run")
    arm.samples.extend(replace(s, process="APIServer", pid=4700) for s in quiet.samples)
    arm.censuses.extend(replace(c, process="APIServer") for c in quiet.censuses)
    [found] = judge(made.run(arm)).arms
    assert found.outcome is Outcome.LEAK
    assert [(p.process, p.outcome) for p in found.processes] == [
        (made.PROCESS, Outcome.LEAK),
        ("APIServer", Outcome.NO_LEAK),
    ]


def test_a_failed_engine_ends_with_its_code_and_keeps_the_finding() -> None:
    arm = replace(leaking("run", KNOWN), failure="killed by signal 9.")
    found = judge(made.run(arm, status="failed"))
    assert (found.outcome, found.exit_code) == (Outcome.LEAK, ExitCode.ENGINE_FAILED)
    assert "killed by signal 9)" in found.reason
    assert KNOWN in found.reason


def test_a_failure_before_three_rounds_shows_nothing() -> None:
    arm = replace(leaking("run", KNOWN, points=4), failure="out of memory")
    found = judge(made.run(arm, status="failed"))
    assert (found.outcome, found.exit_code) == (Outcome.INCONCLUSIVE, ExitCode.ENGINE_FAILED)


def test_an_interrupted_run_is_judged_by_its_complete_rounds() -> None:
    assert judge(made.run(leaking("run", KNOWN, points=5), status="interrupted")).exit_code is ExitCode.LEAK
    assert judge(made.run(leaking("run", KNOWN, points=4), status="interrupted")).exit_code is ExitCode.INCONCLUSIVE


def test_a_run_without_arms_is_inconclusive() -> None:
    found = judge(made.run())
    assert (found.outcome, found.exit_code, found.arms) == (Outcome.INCONCLUSIVE, ExitCode.INCONCLUSIVE, [])


@settings(deadline=None)
@given(data=st.data())
def test_any_remains_of_a_run_are_judged(data: st.DataObject) -> None:
    """Rows may be missing anywhere: a probe that did not answer, a kill between two rows."""
    arm = leaking("run", KNOWN, OTHER)
    for name in ("rounds", "samples", "censuses", "populations"):
        rows = getattr(arm, name)
        kept = data.draw(st.lists(st.booleans(), min_size=len(rows), max_size=len(rows)), label=name)
        rows[:] = [row for row, keep in zip(rows, kept, strict=True) if keep]
    found = judge(made.run(arm))
    complete = sum(r.phase == MEASURED for r in arm.rounds)
    if complete < 3:
        assert found.outcome is Outcome.INCONCLUSIVE
    for suspect in (s for p in found.arms[0].processes for s in p.suspects if s.outcome is Outcome.LEAK):
        assert len(suspect.growth) >= 3
        assert sum(r.phase == WARM_UP for r in arm.rounds) + complete > len(suspect.growth)


def test_servers_that_ran_one_after_the_other_are_not_compared_in_speed() -> None:
    arms = [made.arm([5e8] * 7, [], name=name) for name in ("unpatched", "patched")]
    # Each round is one block here, as in every such run.
    assert judge(RunData({"driver": "inproc"}, "finished", "", arms)).throughput is not None
    assert judge(RunData({"driver": "serve", "ab_order": "auto"}, "finished", "", arms)).throughput is None
    assert judge(RunData({"driver": "serve", "ab_order": "interleaved"}, "finished", "", arms)).throughput is not None


def test_a_known_defect_without_a_patch_is_one_that_no_patch_treats() -> None:
    path = "engine.scheduler.kv_metrics_collector._eviction_events"
    unpatched = made.arm([5e8] * 7, [made.Container([100 * n for n in range(1, 8)], path)], name="unpatched")
    patched = made.arm([5e8] * 7, name="patched")
    found = judge(made.run(unpatched, patched))
    assert found.exit_code is ExitCode.LEAK
    assert "no patch treats" in found.reason
