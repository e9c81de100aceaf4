# SPDX-License-Identifier: Apache-2.0
"""From a run to its verdict and exit code: processes, then arms, then the two arms of an A/B run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vllm_soak.errors import ExitCode
from vllm_soak.verdict.compare import throughput_ratio
from vllm_soak.verdict.defects import NO_PATCH
from vllm_soak.verdict.growth import FEWEST_ROUNDS
from vllm_soak.verdict.outcome import ArmVerdict, Outcome, ProcessVerdict, Ratio, RunVerdict, Suspect
from vllm_soak.verdict.process import judge_process
from vllm_soak.verdict.series import measured_rounds, processes

if TYPE_CHECKING:
    from vllm_soak.store.record import Arm, RunData

# Worst first: an arm is as bad as its worst process.
SEVERITY = (
    Outcome.LEAK,
    Outcome.LEAK_NATIVE,
    Outcome.INCONCLUSIVE,
    Outcome.FRAGMENTATION,
    Outcome.GC_DEFERRED,
    Outcome.BOUNDED,
    Outcome.NO_LEAK,
)
LEAKS = frozenset({Outcome.LEAK, Outcome.LEAK_NATIVE})
UNPATCHED, PATCHED = "unpatched", "patched"


def judge(run: RunData) -> RunVerdict:
    """Return the verdict of a run, also of one that is not finished or was cut short."""
    arms = [judge_arm(arm) for arm in run.arms]
    by_name = {arm.arm: arm for arm in arms}
    if UNPATCHED in by_name and PATCHED in by_name:
        outcome, code, reason = judge_pair(by_name[UNPATCHED], by_name[PATCHED])
    else:
        outcome, code, reason = judge_arms(arms)
    failures = [f"{arm.name}: {arm.failure.rstrip('.')}" for arm in run.arms if arm.failure]
    if failures or run.status == "failed":
        code = ExitCode.ENGINE_FAILED
        reason = f"the engine failed ({'; '.join(failures) or 'see the events'}); {reason}"
    return RunVerdict(outcome, code, reason, arms, _throughput(run))


def judge_arm(arm: Arm) -> ArmVerdict:
    """Return the worst verdict of an arm's processes."""
    verdicts = [judge_process(arm, process) for process in processes(arm)]
    if not verdicts:
        return ArmVerdict(arm.name, Outcome.INCONCLUSIVE, _nothing_measured(arm))
    worst = min(verdicts, key=lambda v: SEVERITY.index(v.outcome))
    return ArmVerdict(arm.name, worst.outcome, f"{worst.process}: {worst.reason}", verdicts)


def judge_arms(arms: list[ArmVerdict]) -> tuple[Outcome, ExitCode, str]:
    """Return outcome, exit code and reason of arms that are not a pair: the worst arm's."""
    if not arms:
        return Outcome.INCONCLUSIVE, ExitCode.INCONCLUSIVE, "no arm was started"
    worst = min(arms, key=lambda arm: SEVERITY.index(arm.outcome))
    if worst.arm in {UNPATCHED, PATCHED} and worst.outcome not in LEAKS:
        return Outcome.INCONCLUSIVE, ExitCode.INCONCLUSIVE, f"only the {worst.arm} arm was run"
    return worst.outcome, exit_code(worst.outcome), worst.reason


def judge_pair(unpatched: ArmVerdict, patched: ArmVerdict) -> tuple[Outcome, ExitCode, str]:
    """Return outcome, exit code and reason of an A/B run.

    Clean when the patched arm is clean and the unpatched one either is too, or leaks only as
    known defects do that a patch treats.
    """
    if patched.outcome in LEAKS:
        return patched.outcome, ExitCode.LEAK, f"the patched arm leaks: {patched.reason}"
    unknown = unknown_leak(unpatched)
    if unknown:
        return unpatched.outcome, ExitCode.LEAK, f"the unpatched arm has a leak that no patch treats: {unknown}"
    for arm in (patched, unpatched):
        if arm.outcome is Outcome.INCONCLUSIVE:
            return arm.outcome, ExitCode.INCONCLUSIVE, f"the {arm.arm} arm is inconclusive: {arm.reason}"
    return patched.outcome, ExitCode.CLEAN, _clean_pair(unpatched)


def exit_code(outcome: Outcome) -> ExitCode:
    """Return what an outcome says to the shell."""
    if outcome in LEAKS:
        return ExitCode.LEAK
    return ExitCode.INCONCLUSIVE if outcome is Outcome.INCONCLUSIVE else ExitCode.CLEAN


def leaking_containers(arm: ArmVerdict) -> list[Suspect]:
    """Return the containers that leak, of all processes of an arm."""
    return [s for process in arm.processes for s in process.suspects if s.outcome is Outcome.LEAK]


def unknown_leak(arm: ArmVerdict) -> str:
    """Return a leak of an arm that no patch treats, in words, or an empty string."""
    native = [p for p in arm.processes if p.outcome is Outcome.LEAK_NATIVE]
    paths = [s.path for p in arm.processes if _is_leak(p) for s in p.suspects if _is_unknown(s)]
    return (paths + [f"{p.process}: {p.reason}" for p in native] or [""])[0]


def _is_leak(process: ProcessVerdict) -> bool:
    return process.outcome is Outcome.LEAK


def _is_unknown(suspect: Suspect) -> bool:
    return suspect.outcome is Outcome.LEAK and (not suspect.known_defect or suspect.patch_status == NO_PATCH)


def _clean_pair(unpatched: ArmVerdict) -> str:
    names = sorted({s.known_defect for s in leaking_containers(unpatched) if s.known_defect})
    if unpatched.outcome in LEAKS:
        return f"the unpatched arm leaks as known ({', '.join(names)}), the patched arm is clean"
    return "neither arm leaks"


def _nothing_measured(arm: Arm) -> str:
    done = len(measured_rounds(arm))
    rounds = f"{done} complete measured round{'' if done == 1 else 's'}"
    return f"{rounds} and no process measured, and a trend needs {FEWEST_ROUNDS}"


def one_after_the_other(run: RunData) -> bool:
    """Whether the arms were servers that ran one after the other: no block of one ran beside the other's."""
    return run.plan.get("driver") == "serve" and run.plan.get("ab_order") != "interleaved"


def _throughput(run: RunData) -> Ratio | None:
    arms = {arm.name: arm for arm in run.arms}
    if UNPATCHED not in arms or PATCHED not in arms or one_after_the_other(run):
        return None
    return throughput_ratio(arms[UNPATCHED], arms[PATCHED])
