# SPDX-License-Identifier: Apache-2.0
"""What an arm measured, as short series over requests; every reader copes with missing data."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from vllm_soak.store.record import MEASURED, Arm, Round, RunData, Sample
from vllm_soak.verdict.judge import LEAKS, SEVERITY
from vllm_soak.verdict.outcome import ArmVerdict, ProcessVerdict, RunVerdict, Suspect

if TYPE_CHECKING:
    from collections.abc import Iterable


@dataclass(frozen=True, slots=True)
class Curve:
    """One series of one arm over requests completed.

    Args:
        arm: Name of the arm.
        requests: Requests completed, ascending.
        values: One value for each of them.
        warm_up: Requests completed when the measured rounds began.
    """

    arm: str
    requests: list[int]
    values: list[float]
    warm_up: int = 0


def arm_verdict(verdict: RunVerdict, arm: str) -> ArmVerdict | None:
    """The verdict of an arm, or None when it got none."""
    return next((found for found in verdict.arms if found.arm == arm), None)


def measured_rounds(arm: Arm) -> list[Round]:
    """The rounds after warm-up."""
    return [one for one in arm.rounds if one.phase == MEASURED]


def warm_up_requests(arm: Arm) -> int:
    """Requests completed when the measured rounds began."""
    return max((one.total_requests for one in arm.rounds if one.phase != MEASURED), default=0)


def main_process(verdict: RunVerdict) -> str:
    """The process that a report is mostly about: the one with the worst outcome, unpatched arm first."""
    found = [one for arm in verdict.arms for one in arm.processes]
    return min(found, key=lambda one: SEVERITY.index(one.outcome)).process if found else ""


def process_names(run: RunData, verdict: RunVerdict) -> list[str]:
    """Every process that was judged or sampled, the main one first."""
    judged = [one.process for arm in verdict.arms for one in arm.processes]
    sampled = [one.process for arm in run.arms for one in arm.samples]
    return list(dict.fromkeys([main_process(verdict), *judged, *sampled]))


def process_verdict(verdict: RunVerdict, arm: str, process: str) -> ProcessVerdict | None:
    """The verdict of one process of one arm, or None."""
    found = arm_verdict(verdict, arm)
    return next((one for one in found.processes if one.process == process), None) if found else None


def leaks(process: ProcessVerdict) -> list[Suspect]:
    """The suspects of a process that were judged to leak, largest first."""
    found = [one for one in process.suspects if one.outcome in LEAKS]
    return sorted(found, key=lambda one: -abs(one.bytes_per_request))


def culprits(verdict: RunVerdict) -> list[Suspect]:
    """The leaking containers of all arms, each once."""
    found = (suspect for arm in verdict.arms for process in arm.processes for suspect in leaks(process))
    return list({(one.process, one.fingerprint, one.path): one for one in found}.values())


def span(samples: Iterable[Sample], process: str) -> list[Sample]:
    """The last warm-up sample and the measured samples of a process, in order of requests."""
    ordered = sorted((one for one in samples if one.process == process), key=lambda one: one.requests)
    measured = [one for one in ordered if one.phase == MEASURED]
    before = [one for one in ordered if one.phase != MEASURED]
    return [*before[-1:], *measured] if measured else []


def in_use(sample: Sample) -> float | None:
    """Bytes in use: after collection and trim where that was measured, else as resident."""
    values = sample.values
    if "in_use" in values:
        return values["in_use"]
    return values["rss_anon"] + values.get("swap", 0) if "rss_anon" in values else None


def allocated_curve(arm: Arm, process: str) -> Curve:
    """Bytes that glibc had handed out, over the measured rounds, from the last warm-up sample on."""
    found = [(one.requests, one.values["allocated"]) for one in span(arm.samples, process) if "allocated" in one.values]
    return curve(arm, found)


def in_use_curve(arm: Arm, process: str) -> Curve:
    """Bytes in use of a process over the measured rounds, from the last warm-up sample on."""
    found = [(one.requests, value) for one in span(arm.samples, process) if (value := in_use(one)) is not None]
    return curve(arm, found)


def length_curve(arm: Arm, suspect: Suspect) -> Curve:
    """Length of the same container in an arm, from its censuses, else from watched paths."""
    counted = {
        one.requests: float(one.length)
        for one in arm.populations
        if one.process == suspect.process and one.fingerprint == suspect.fingerprint and one.path == suspect.path
    }
    watched = {one.requests: float(one.lengths[suspect.path]) for one in arm.samples if is_of(one, suspect)}
    return curve(arm, sorted((watched | counted).items()))


def curve(arm: Arm, points: list[tuple[int, float]]) -> Curve:
    """A curve from its points; those that are not numbers are left out."""
    finite = [(at, value) for at, value in points if math.isfinite(value)]
    return Curve(arm.name, [at for at, _ in finite], [value for _, value in finite], warm_up_requests(arm))


def lengths_over_measured(arm: Arm, suspect: Suspect) -> tuple[float, float] | None:
    """The container's length before the first and after the last measured round, or None.

    Told by the round: a census of a server under load ends after the count of requests that closes its round.
    """
    watched = {one.round: float(one.lengths[suspect.path]) for one in arm.samples if is_of(one, suspect)}
    counted = {
        one.round: float(one.length)
        for one in arm.populations
        if one.process == suspect.process and one.fingerprint == suspect.fingerprint and one.path == suspect.path
    }
    found = sorted((watched | counted).items())
    if not found:
        return None
    warm_up = max((one.index for one in arm.rounds if one.phase != MEASURED), default=-1)
    before = [value for index, value in found if index <= warm_up]
    return (before[-1] if before else found[0][1]), found[-1][1]


def is_of(sample: Sample, suspect: Suspect) -> bool:
    """Whether a sample has the length of a suspect."""
    return sample.process == suspect.process and suspect.path in sample.lengths


def watched(run: RunData) -> list[str]:
    """The paths that `--watch` asked for, each once."""
    asked = run.plan.get("watch")
    found = asked if isinstance(asked, list | tuple) else []
    return list(dict.fromkeys(str(path) for path in found))


def has_length(arm: Arm, process: str, path: str) -> bool:
    """Whether a watched path was ever found in a process of an arm."""
    return any(one.process == process and path in one.lengths for one in arm.samples)


def was_walked(arm: Arm, process: str) -> bool:
    """Whether censuses saw all of a process, so that a container which they do not name did not grow."""
    walks = [one for one in arm.censuses if one.process == process]
    return bool(walks) and not any(one.partial for one in walks)


def throughput(rounds: list[Round]) -> float | None:
    """Requests a second under load, over all the given rounds."""
    seconds = sum(one.seconds for one in rounds)
    return sum(one.requests for one in rounds) / seconds if seconds > 0 else None
