# SPDX-License-Identifier: Apache-2.0
"""What was observed of a target from outside, as typed rows: points, events, steps, captures."""

from __future__ import annotations

from dataclasses import dataclass, field

# What a `Point` can be about besides a process's role.
TREE, HOST, SERVER, CLIENT = "tree", "host", "server", "client"


@dataclass(frozen=True, slots=True)
class Point:
    """What the sampler outside the target read at one moment; about one a second, thinned out in long runs.

    Args:
        elapsed: Seconds since the arm's sampler started.
        process: Role of a process (`APIServer`, `EngineCore`, `Worker_TP0`), or one of `TREE` (all processes
            together), `HOST` (the machine and the control group), `SERVER` (the server's own metrics) and
            `CLIENT` (latency and rate as the load saw them).
        pid: Its process id, 0 where there is none.
        requests: Requests completed by then.
        values: Named numbers; `docs/serve.md` lists them. A value that could not be read is absent, never zero.
    """

    arm: str
    elapsed: float
    process: str
    pid: int
    requests: int
    values: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ProcessEvent:
    """A process of the target appeared, died, restarted (another pid in the same role) or took a new role.

    Args:
        kind: `appeared`, `died`, `restarted` or `renamed`.
        detail: In words: the pid or role before, or what else is known.
    """

    arm: str
    elapsed: float
    kind: str
    process: str
    pid: int
    detail: str = ""


@dataclass(frozen=True, slots=True)
class LevelStep:
    """A moment from which latency, rate or processor time a request stayed at another level.

    Args:
        elapsed: Seconds since the arm's sampler started at which the level changed.
        seen: When that was established.
        requests: Requests completed when it was established.
        changes: By series (`latency_p50`, `latency_p99`, `throughput`, `cpu_per_request`, ...): the level before and
            after as `[before, after]`; only series that changed.
        reason: In one sentence without a full stop.
        contention: How busy other programs kept the machine when it accounts for the step, in words; else empty.
    """

    arm: str
    elapsed: float
    seen: float
    requests: int
    changes: dict[str, list[float]] = field(default_factory=dict)
    reason: str = ""
    contention: str = ""


@dataclass(frozen=True, slots=True)
class Capture:
    """What was written down of the target at one moment.

    Args:
        elapsed: When it began.
        seconds: How long it took.
        reason: `baseline`, or what it was taken for.
        folder: Folder of its files, relative to the run folder.
        files: Names of the files in it.
        notes: What could not be had and why, and what stood out.
    """

    arm: str
    elapsed: float
    seconds: float
    reason: str
    folder: str
    files: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
