# SPDX-License-Identifier: Apache-2.0
"""A quantity at the end of each judged round, over requests completed.

The first point is the end of warm-up; then one point for every measured round that was completed.
A round that a crash or Ctrl-C cut short is left out: a crash's tail is not a trend.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import TYPE_CHECKING

from vllm_soak.store.record import MEASURED

if TYPE_CHECKING:
    from collections.abc import Iterable

    from vllm_soak.store.record import Arm, Round, Sample

# The last round counts when it did at least this share of the usual work.
WHOLE_ROUND = 0.9


@dataclass(frozen=True, slots=True)
class Series:
    """Values over requests; both lists have the same length and requests ascend.

    Args:
        requests: Requests that the arm had completed at each point.
        values: Entries or bytes at each point.
    """

    requests: list[int]
    values: list[float]

    @property
    def growth(self) -> list[float]:
        """What was added between neighbouring points."""
        return [after - before for before, after in pairwise(self.values)]

    @property
    def spans(self) -> list[int]:
        """Requests between neighbouring points."""
        return [after - before for before, after in pairwise(self.requests)]

    @property
    def middles(self) -> list[float]:
        """Requests completed half-way between neighbouring points."""
        return [(before + after) / 2 for before, after in pairwise(self.requests)]

    @property
    def total(self) -> float:
        """Growth from the first to the last point."""
        return self.values[-1] - self.values[0] if self.values else 0.0

    @property
    def work(self) -> int:
        """Requests from the first to the last point."""
        return self.requests[-1] - self.requests[0] if self.requests else 0


def series_of(points: Iterable[tuple[int, float]]) -> Series:
    """Return points, requests and value in order, as a series; of several at one number of requests, the last.

    A server that somebody else runs may finish its only request of two windows between their readings.
    """
    last = dict(points)
    return Series(list(last), list(last.values()))


def measured_rounds(arm: Arm) -> list[Round]:
    """Return the measured rounds that were completed, in order."""
    rounds = sorted((r for r in arm.rounds if r.phase == MEASURED), key=lambda r: r.index)
    usual = median([r.requests for r in rounds]) if rounds else 0
    if rounds and rounds[-1].requests < WHOLE_ROUND * usual:
        rounds.pop()
    return rounds


def judged_rounds(arm: Arm) -> list[Round]:
    """Return the last warm-up round, if there is one, and the measured rounds."""
    measured = measured_rounds(arm)
    first = measured[0].index if measured else None
    before = [r for r in arm.rounds if r.phase != MEASURED and (first is None or r.index < first)]
    return [*sorted(before, key=lambda r: r.index)[-1:], *measured]


def processes(arm: Arm) -> list[str]:
    """Return the names of the processes that were sampled or walked, in order of appearance."""
    return list(dict.fromkeys([*(s.process for s in arm.samples), *(c.process for c in arm.censuses)]))


def walked_rounds(arm: Arm, process: str) -> list[Round]:
    """Return the judged rounds after which this process was walked."""
    walked = {c.round for c in arm.censuses if c.process == process}
    return [r for r in judged_rounds(arm) if r.index in walked]


def samples_by_round(arm: Arm, process: str) -> dict[int, Sample]:
    """Return the last sample of a process after each judged round, by round index."""
    judged = {r.index for r in judged_rounds(arm)}
    return {s.round: s for s in arm.samples if s.process == process and s.round in judged}


def byte_series(arm: Arm, process: str, value: str = "in_use") -> Series:
    """Return bytes in use (anonymous memory plus swap, after collection and trim), or another value of the samples."""
    samples = samples_by_round(arm, process)
    points = [
        (samples[r.index].requests, samples[r.index].values[value])
        for r in judged_rounds(arm)
        if r.index in samples and value in samples[r.index].values
    ]
    return series_of(points)
