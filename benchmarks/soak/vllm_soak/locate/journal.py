# SPDX-License-Identifier: Apache-2.0
"""Rounds and censuses of one process, kept as the arm that the verdict's rules read."""

from __future__ import annotations

from dataclasses import fields, replace
from itertools import accumulate
from typing import Any

from vllm_soak.store.record import MEASURED, WARM_UP, Arm, Census, Population, Round, Sample, Step
from vllm_soak.verdict.outcome import ProcessVerdict
from vllm_soak.verdict.process import judge_process

ARM = "locate"
_COLUMNS = {field.name for field in fields(Population)}
# Resident bytes that a row, and a path with what the census keeps of it, take: 200 and 2,800 bytes were measured, and
# half as much again since they lie scattered.
ROW_BYTES, PATH_BYTES = 300, 4_200
_COUNTS = ("objects", "containers", "seconds", "walker", "partial")


class Journal:
    """What was seen of one process, round by round.

    Args:
        process: Name of the process in the verdict.
        pid: Its process id.

    Attributes:
        arm: The rounds, as a run's store would hold them.
        grown: Entries that each container of the last census gained since the one before, by path.
    """

    def __init__(self, process: str, pid: int) -> None:
        self.process = process
        self.pid = pid
        self.arm = Arm(ARM)
        self.grown: dict[str, int] = {}
        self._last: dict[str, Population] = {}

    @property
    def work(self) -> int:
        """Pieces of work done so far."""
        return self.arm.rounds[-1].total_requests if self.arm.rounds else 0

    @property
    def own_bytes(self) -> int:
        """About what all this takes in the process that keeps it."""
        return ROW_BYTES * len(self.arm.populations) + PATH_BYTES * len(self._last)

    def add(
        self,
        answer: dict[str, Any],
        *,
        work: int,
        seconds: float,
        measured: bool,
        values: dict[str, float] | None = None,
        garbage: list[dict[str, Any]] | None = None,
    ) -> None:
        """Record a round.

        Args:
            answer: What the census after the round answered.
            work: Pieces of work in the round.
            seconds: How long they took.
            measured: Whether the round counts, or is warm-up.
            values: What was sampled after the round, as in `store.record.Sample`.
            garbage: What was collected then, as there.
        """
        index, total = len(self.arm.rounds), self.work + work
        phase = MEASURED if measured else WARM_UP
        self.arm.rounds.append(Round(ARM, index, phase, work, total, seconds))
        sample = Sample(ARM, self.process, self.pid, phase, index, total, seconds, values or {}, garbage=garbage or [])
        self.arm.samples.append(sample)
        counts = {key: answer[key] for key in _COUNTS}
        self.arm.censuses.append(Census(ARM, self.process, index, total, **counts))
        where = {"arm": ARM, "process": self.process, "round": index, "requests": total}
        for row in answer["populations"]:
            found = _sharing(_population(row, where), self._last.get(row["path"]))
            self._last[found.path] = found
            self.arm.populations.append(found)
        self.grown = {row["path"]: row["grown"] for row in answer["populations"] if row.get("grown") is not None}

    def verdict(self, work: list[int] | None = None) -> ProcessVerdict:
        """Judge by the rules of `docs/verdict.md`.

        Args:
            work: Pieces of work of each round, instead of those that were recorded.
        """
        return judge_process(self.arm if work is None else measured_by(self.arm, work), self.process)

    def last_rows(self) -> list[Population]:
        """Rows of the last census."""
        return [row for row in self.arm.populations if row.round == len(self.arm.rounds) - 1]


def measured_by(arm: Arm, work: list[int]) -> Arm:
    """The same rounds over another measure of work."""
    totals = list(accumulate(work))
    rounds = [
        replace(one, requests=done, total_requests=total)
        for one, done, total in zip(arm.rounds, work, totals, strict=True)
    ]
    rows = [replace(row, requests=totals[row.round]) for row in arm.populations]
    return replace(arm, rounds=rounds, populations=rows)


def _population(row: dict[str, Any], where: dict[str, Any]) -> Population:
    """A census's row as the store's; a newer census may say more than the store keeps."""
    kept = {name: value for name, value in (row | where).items() if name in _COLUMNS}
    found = Population(**kept)
    return replace(found, steps=[Step(**step) for step in row.get("steps", [])])


def _sharing(row: Population, before: Population | None) -> Population:
    """A row that has what it says again from the row before.

    `growth()` keeps its rows in the process that it measures, where hundreds a round would look like a leak.
    """
    if before is None:
        return row
    again = {name: getattr(before, name) for name in _COLUMNS if getattr(before, name) == getattr(row, name)}
    return replace(row, **again)
