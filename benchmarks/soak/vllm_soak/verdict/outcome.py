# SPDX-License-Identifier: Apache-2.0
"""What is said of a container, a process, an arm and a run, and by which rule."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from vllm_soak.errors import ExitCode
from vllm_soak.store.record import Step


class Outcome(str, Enum):
    """The possible answers, from the design's list."""

    LEAK = "leak"
    LEAK_NATIVE = "leak-native"
    BOUNDED = "bounded"
    GC_DEFERRED = "gc-deferred"
    FRAGMENTATION = "fragmentation"
    NO_LEAK = "no-leak"
    INCONCLUSIVE = "inconclusive"

    def __str__(self) -> str:
        """The value, as of `enum.StrEnum`, which Python 3.10 lacks."""
        return self.value

    def __format__(self, spec: str) -> str:
        """Likewise."""
        return format(self.value, spec)


@dataclass(frozen=True, slots=True)
class Slope:
    """A least-squares slope of bytes in use over measured rounds.

    Args:
        per_thousand: Bytes per 1,000 requests.
        low: Lower end of the 95 % interval (Student t, n - 2 degrees of freedom).
        high: Upper end.
        points: Rounds that it rests on.
    """

    per_thousand: float
    low: float
    high: float
    points: int


@dataclass(frozen=True, slots=True)
class Suspect:
    """A container that grew, and what that growth was judged to be.

    Args:
        growth: Entries added in each measured round, in order.
        requests: Requests of each of those rounds.
        per_request: Entries a request over all measured rounds.
        bytes_per_entry: Container slot plus exclusive bytes of an entry.
        bytes_at_least: Whether exclusive bytes were not measured, so that bytes are a lower bound.
        known_defect: Name of the known defect that this path shows, or an empty string.
        patch_status: Status of the patch that treats it in this process, `none` where there is no such patch, or an
            empty string where none was reported.
        workaround: What helps where there is no patch, or an empty string.
        rule: The rule that decided.
        reason: What the rule saw, in one sentence.
        weak: Why the container keeps nothing alive, or an empty string.
        samples: What a few new entries look like.
    """

    process: str
    path: str
    template: str
    fingerprint: str
    type: str
    steps: list[Step]
    length_first: int
    length_last: int
    growth: list[int]
    requests: list[int]
    per_request: float
    bytes_per_entry: float
    bytes_per_request: float
    outcome: Outcome
    rule: str
    reason: str
    bound: int | None = None
    known_defect: str = ""
    upstream: str = ""
    affected: str = ""
    patch_status: str = ""
    workaround: str = ""
    bytes_at_least: bool = False
    weak: str = ""
    samples: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Reconciliation:
    """Where the growth in use over the measured rounds went, in bytes; see `docs/verdict.md`.

    Args:
        growth: What stayed in use, after each round's collection and trim: named + unattributed.
        named: What containers that grew account for.
        gc_freed: What collections freed over the measured rounds, on top of `growth`.
        trim_returned: What trims returned over the measured rounds, on top of `growth`.
        unattributed: Growth that no container accounts for.
    """

    growth: float
    named: float
    gc_freed: float
    trim_returned: float
    unattributed: float
    basis: str = "in use"

    @property
    def explained(self) -> float | None:
        """Share of the growth that named containers account for, or None when nothing grew."""
        return self.named / self.growth if self.growth > 0 else None


@dataclass(frozen=True, slots=True)
class Cycle:
    """Objects that refer to each other in a ring, and that only a collection frees.

    Args:
        ring: Members by type and the attribute that leads on, for example `Node.next -> Node`.
        count: Objects like the first member, in all measured rounds.
        per_request: Those a request.
    """

    ring: str
    count: int
    per_request: float


@dataclass(frozen=True, slots=True)
class ProcessVerdict:
    """The answer for one process of one arm.

    Args:
        detectable: The smallest leak of resident memory that this run would have seen, in bytes per 1,000
            requests.
        detectable_allocated: Likewise of memory that glibc handed out; None where it was not measured.
        blind_spots: What this run could not see, in words.
        settle: What else to run to settle an inconclusive answer, or an empty string.
        cycles: What the collections after the measured rounds freed, the most frequent first.
    """

    process: str
    pid: int
    outcome: Outcome
    rule: str
    reason: str
    suspects: list[Suspect] = field(default_factory=list)
    slope: Slope | None = None
    reconciliation: Reconciliation | None = None
    detectable: float | None = None
    blind_spots: list[str] = field(default_factory=list)
    settle: str = ""
    detectable_allocated: float | None = None
    cycles: list[Cycle] = field(default_factory=list)

    def __str__(self) -> str:
        """The answer in one line: what it is, and why."""
        return f"{self.outcome.value}: {self.reason}"


@dataclass(frozen=True, slots=True)
class ArmVerdict:
    """The worst answer of an arm's processes."""

    arm: str
    outcome: Outcome
    reason: str
    processes: list[ProcessVerdict] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Ratio:
    """Patched over unpatched throughput, from pairs of neighbouring blocks.

    Args:
        median: Median of the pairwise ratios; above 1 the patched arm is faster.
        low: Lower end of the 95 % interval of the median (sign test order statistics).
        high: Upper end.
        pairs: Pairs that it rests on.
    """

    median: float
    low: float
    high: float
    pairs: int


@dataclass(frozen=True, slots=True)
class RunVerdict:
    """The answer for a run, with the exit code it ends with."""

    outcome: Outcome
    exit_code: ExitCode
    reason: str
    arms: list[ArmVerdict] = field(default_factory=list)
    throughput: Ratio | None = None
