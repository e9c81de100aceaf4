# SPDX-License-Identifier: Apache-2.0
"""How a run stands while it goes on: one arm in a few numbers, for the live view and for plain lines."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from vllm_soak.report.latency import quantile
from vllm_soak.report.measure import arm_verdict, in_use, measured_rounds, span
from vllm_soak.report.number import MISSING, count, size
from vllm_soak.report.printable import printable
from vllm_soak.verdict.explained import is_unrooted
from vllm_soak.verdict.outcome import Outcome

if TYPE_CHECKING:
    from vllm_soak.store.record import Arm, RunData, Sample
    from vllm_soak.verdict.outcome import RunVerdict, Suspect

SUSPECT = (Outcome.LEAK, Outcome.INCONCLUSIVE)
MOST_SUSPECTS = 3


@dataclass(frozen=True, slots=True)
class Standing:
    """One arm after its last round.

    Args:
        rounds: Measured rounds done, and rounds of warm-up.
        requests: Requests completed in all.
        rate: Requests a second in the last round, or None.
        latency: Median and 99th percentile of the last round in seconds, None where not known.
        memory: Bytes in use of each process, and what they grew by over the measured rounds.
        suspects: Containers that grow, in words.
        outcome: The verdict so far.
    """

    arm: str
    rounds: tuple[int, int]
    requests: int
    rate: float | None
    latency: tuple[float | None, float | None]
    memory: dict[str, tuple[float, float]] = field(default_factory=dict)
    suspects: list[str] = field(default_factory=list)
    outcome: str = ""

    @property
    def latency_text(self) -> str:
        """Median and 99th percentile; an empty string where somebody else drives the server and neither is known."""
        if self.latency == (None, None):
            return ""
        return f"p50 {milliseconds(self.latency[0])}, p99 {milliseconds(self.latency[1])}"

    def line(self) -> str:
        """All of it in one plain line."""
        pace = ", ".join(part for part in (f"{count(self.rate)} requests/s", self.latency_text) if part)
        memory = ", ".join(
            f"{name} {size(now)} ({size(grown, signed=True)})" for name, (now, grown) in self.memory.items()
        )
        parts = [f"{self.arm}: {pace}", f"in use: {memory}" if memory else "", ", ".join(self.suspects)]
        return "; ".join(part for part in [*parts, f"so far {self.outcome}" if self.outcome else ""] if part)


def standing(run: RunData, verdict: RunVerdict, name: str) -> Standing | None:
    """Return how an arm stands, or None before its first round."""
    arm = next((one for one in run.arms if one.name == name), None)
    if arm is None or not arm.rounds:
        return None
    last, measured = arm.rounds[-1], len(measured_rounds(arm))
    judged = arm_verdict(verdict, name)
    found = [one for process in judged.processes for one in process.suspects] if judged else []
    return Standing(
        printable(name),
        (measured, len(arm.rounds) - measured),
        last.total_requests,
        last.requests / last.seconds if last.seconds > 0 else None,
        (quantile(last.latency, 0.5), quantile(last.latency, 0.99)),
        memory(arm),
        [in_words(one) for one in sorted(found, key=urgency) if one.outcome in SUSPECT][:MOST_SUSPECTS],
        judged.outcome.value if judged and measured else "",
    )


def memory(arm: Arm) -> dict[str, tuple[float, float]]:
    """Bytes in use of each process after the last round, and their growth over the measured rounds."""
    last: dict[str, Sample] = {one.process: one for one in arm.samples if one.round == arm.rounds[-1].index}
    found = {}
    for name, sample in last.items():
        now = in_use(sample)
        first = next((value for one in span(arm.samples, name) if (value := in_use(one)) is not None), now)
        if now is not None and first is not None:
            found[printable(name, 30)] = (now, now - first)
    return found


def urgency(suspect: Suspect) -> tuple[bool, bool, int]:
    """Sorts leaks first, then what has a path, then what grew most."""
    return suspect.outcome is not Outcome.LEAK, is_unrooted(suspect), -sum(suspect.growth)


def in_words(suspect: Suspect) -> str:
    """A container that grows: its name, its length, its growth."""
    name = printable(suspect.path.rsplit(".", 1)[-1] or suspect.path, 40)
    return f"{name} {count(suspect.length_last)} ({count(sum(suspect.growth), signed=True)})"


def milliseconds(seconds: float | None) -> str:
    """A latency."""
    return MISSING if seconds is None else f"{seconds * 1000:,.0f} ms"
