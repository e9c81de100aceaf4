# SPDX-License-Identifier: Apache-2.0
"""The verdict on one process: containers first, then bytes, then the two reconciled."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from vllm_soak.verdict.blind import blind_spots
from vllm_soak.verdict.bytes import detectable, judge_bytes, slope, without
from vllm_soak.verdict.finding import Finding
from vllm_soak.verdict.growth import FEWEST_ENTRIES, FEWEST_ROUNDS
from vllm_soak.verdict.outcome import Outcome, ProcessVerdict, Reconciliation
from vllm_soak.verdict.reconcile import cycles, fragmentation, gc_deferred, measured_samples, named_bytes, reconcile
from vllm_soak.verdict.series import Series, byte_series, measured_rounds, samples_by_round, walked_rounds
from vllm_soak.verdict.suspects import Judged, judge_containers
from vllm_soak.verdict.track import compared_rounds, is_cut
from vllm_soak.verdict.warming import named_question

if TYPE_CHECKING:
    from vllm_soak.store.record import Arm

# A leak by bytes alone: native code, or a container that nobody looked at.
BYTES_GREW = "bytes-grew"
ARM_IT = "start the server with VLLM_SOAK_PROBE=1 in its environment, so that the container can be named"
MORE_ROUNDS = f"run at least {FEWEST_ROUNDS} measured rounds to the end (--rounds, --max-requests, --duration)"


@dataclass(frozen=True, slots=True)
class Evidence:
    """What is known of a process once its rounds were compared.

    Args:
        series: Bytes in use.
        named: Bytes that named containers had grown by, at each point of `series`.
        rest: Bytes in use without them.
        allocated: Bytes that glibc handed out; no points where that was not measured.
        rest_allocated: Those without the named containers.
    """

    arm: Arm
    process: str
    judged: list[Judged]
    series: Series
    named: list[float]
    rest: Series
    allocated: Series
    rest_allocated: Series


def judge_process(arm: Arm, process: str) -> ProcessVerdict:
    """Return the verdict on one process of an arm."""
    evidence = gather(arm, process)
    finding = decide(evidence)
    return ProcessVerdict(
        process=process,
        pid=next((s.pid for s in reversed(arm.samples) if s.process == process), 0),
        outcome=finding.outcome,
        rule=finding.rule,
        reason=finding.reason,
        suspects=[found for found, _, _ in evidence.judged],
        slope=slope(evidence.series),
        reconciliation=account(evidence),
        detectable=detectable(evidence.rest),
        detectable_allocated=detectable(evidence.rest_allocated),
        blind_spots=blind_spots(arm, process),
        settle=finding.settle,
        cycles=cycles(measured_samples(arm, process), evidence.series),
    )


def gather(arm: Arm, process: str) -> Evidence:
    """Compare a process' rounds."""
    judged, series = judge_containers(arm, process), byte_series(arm, process)
    named = named_bytes(judged, series)
    allocated = byte_series(arm, process, "allocated")
    rest_allocated = without(allocated, named_bytes(judged, allocated))
    return Evidence(arm, process, judged, series, named, without(series, named), allocated, rest_allocated)


def account(evidence: Evidence) -> Reconciliation | None:
    """Reconcile on glibc's exact count where every round has it, else on resident bytes."""
    arm, process, exact = evidence.arm, evidence.process, evidence.allocated
    if exact.requests and exact.requests == evidence.series.requests:
        return reconcile(arm, process, exact, named_bytes(evidence.judged, exact), "allocated")
    return reconcile(arm, process, evidence.series, evidence.named)


def decide(evidence: Evidence) -> Finding:
    """Return the first finding, from what needs no further evidence to what rests on all of it."""
    rules = (too_few_rounds, restarted, leaking, native, not_walked, undecided, deferred, bounded)
    findings = (rule(evidence) for rule in rules)
    return next((found for found in findings if found is not None), clean(evidence))


def too_few_rounds(evidence: Evidence) -> Finding | None:
    """Fewer than three complete measured rounds are no trend, whatever they show."""
    done = len(measured_rounds(evidence.arm))
    if done >= FEWEST_ROUNDS:
        return None
    reason = f"{done} complete measured round{'' if done == 1 else 's'}, and a trend needs {FEWEST_ROUNDS}"
    return Finding(Outcome.INCONCLUSIVE, "too-few-rounds", reason, MORE_ROUNDS)


def restarted(evidence: Evidence) -> Finding | None:
    """A process that was replaced between rounds began anew: its rounds cannot be compared."""
    pids = {s.pid for s in samples_by_round(evidence.arm, evidence.process).values()}
    if len(pids) <= 1:
        return None
    reason = f"the process was replaced during the measured rounds ({len(pids)} pids)"
    return Finding(Outcome.INCONCLUSIVE, "restarted", reason, "find out why it restarted and run again")


def leaking(evidence: Evidence) -> Finding | None:
    """A container leaks: named by its path."""
    leaks = [(found, why) for found, why, _ in evidence.judged if found.outcome is Outcome.LEAK]
    if not leaks:
        return None
    first, why = leaks[0]
    more = f" (and {len(leaks) - 1} more)" if len(leaks) > 1 else ""
    return Finding(Outcome.LEAK, why.rule, f"{first.path}{more} {why.reason}")


def native(evidence: Evidence) -> Finding | None:
    """Bytes that no container explains grow like a leak; without a census, one may well hold them."""
    found = (judge_bytes(evidence.rest_allocated, "allocated bytes"), judge_bytes(evidence.rest))
    leak = next((one for one in found if one is not None and one.outcome is Outcome.LEAK_NATIVE), None)
    if leak is None or not from_outside(evidence):
        return leak and replace(leak, reason=f"{leak.reason}, and no container explains it")
    reason = f"{leak.reason}; containers were not looked at, and one of them may be what grows"
    return replace(leak, rule=BYTES_GREW, reason=reason, settle=ARM_IT)


def not_walked(evidence: Evidence) -> Finding | None:
    """Without three rounds whose census had an earlier one to compare with, containers were not judged at all."""
    compared = len(compared_rounds(evidence.arm, evidence.process))
    if compared >= FEWEST_ROUNDS or from_outside(evidence):
        return None
    if len(walked_rounds(evidence.arm, evidence.process)) >= FEWEST_ROUNDS:
        return _no_baseline(compared)
    reason = "too few censuses of this process, so that its containers could not be compared"
    remedy = "check that the probe reports from this process (`vllm-soak patches`), and run again"
    return Finding(Outcome.INCONCLUSIVE, "no-census", reason, remedy)


def from_outside(evidence: Evidence) -> bool:
    """Whether somebody else's server without a probe was watched, so that bytes are all there is to see."""
    walked = any(one.process == evidence.process for one in evidence.arm.censuses)
    return evidence.arm.engine.get("driver") == "attach" and not walked


def _no_baseline(compared: int) -> Finding:
    reason = (
        f"no baseline before the measured rounds: the containers of {compared} could be compared with the "
        f"census before, and a trend needs {FEWEST_ROUNDS}"
    )
    remedy = "leave requests and time for a warm-up round or for more rounds (--max-requests, --duration, --rounds)"
    return Finding(Outcome.INCONCLUSIVE, "no-baseline", reason, remedy)


def undecided(evidence: Evidence) -> Finding | None:
    """A container or the bytes may be growing: more rounds would tell."""
    for found, why, _ in evidence.judged:
        if found.outcome is Outcome.INCONCLUSIVE:
            return Finding(Outcome.INCONCLUSIVE, why.rule, f"{found.path} {why.reason}", why.settle)
    bytes_found = judge_bytes(evidence.rest_allocated, "allocated bytes") or judge_bytes(evidence.rest)
    return named_question(evidence.arm, evidence.process, bytes_found) if bytes_found else None


def deferred(evidence: Evidence) -> Finding | None:
    """Growth that a collection frees, or that a trim returns."""
    samples = measured_samples(evidence.arm, evidence.process)
    return gc_deferred(samples, evidence.series) or fragmentation(samples, evidence.series)


def bounded(evidence: Evidence) -> Finding | None:
    """What grew has met its limit, or has a known one."""
    for found, why, _ in evidence.judged:
        if found.outcome is Outcome.BOUNDED:
            return Finding(Outcome.BOUNDED, why.rule, f"{found.path} {why.reason}")
    return None


def clean(evidence: Evidence) -> Finding:
    """No container grew in every round, and bytes stay below what this run can detect."""
    kinds = (("resident", evidence.rest), ("allocated", evidence.rest_allocated))
    least = [f"{found:,.0f} {kind} bytes" for kind, rest in kinds if (found := detectable(rest)) is not None]
    below = f"; a leak above {' or '.join(least)} per 1,000 requests would have shown" if least else ""
    if from_outside(evidence):
        reason = f"bytes in use did not keep growing over {len(measured_rounds(evidence.arm))} windows{below}"
        return Finding(Outcome.NO_LEAK, "bytes-only", f"{reason}; containers were not looked at")
    rounds = len(compared_rounds(evidence.arm, evidence.process))
    reason = f"no container kept growing over {rounds} rounds (by {FEWEST_ENTRIES} entries or more in all){below}"
    return Finding(Outcome.NO_LEAK, "nothing-grew", reason + _left_out(evidence))


def _left_out(evidence: Evidence) -> str:
    """What the last census did not name, where it was cut: a small leak may be among that."""
    censuses = [one for one in evidence.arm.censuses if one.process == evidence.process]
    return f"; not all of them were looked at: {censuses[-1].partial}" if censuses and is_cut(censuses[-1]) else ""
