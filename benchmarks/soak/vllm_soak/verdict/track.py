# SPDX-License-Identifier: Apache-2.0
"""One container over the judged rounds, also before the first census that names it.

A census names what grew since the census before it, and from then on always. So a container that is
first named after a round did not grow in the rounds before, or it was not there: nothing else is known of its
length then but that it gained `Population.grown` entries in that round. Where a census left out some that grew,
it may have been among these, and nothing is known of the rounds up to that census.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from vllm_soak.store.record import MEASURED
from vllm_soak.verdict.series import Series, series_of, walked_rounds

if TYPE_CHECKING:
    from collections.abc import Iterable

    from vllm_soak.store.record import Arm, Census, Population, Round

# What `heap.census` says where it left out containers that grew.
_LEFT_OUT = ("were not named", "the walk was stopped")


@dataclass(frozen=True, slots=True)
class Track:
    """What the censuses say of one container.

    Args:
        rows: Its rows over the judged rounds, in order.
        series: Length over requests.
        first_round: Number, from 1, of the measured round between the first two points of `series`.
        idle: Rounds without growth that stand before the series, of the last warm-up round and the measured
            ones. When there are any, the round that ends at the first point grew by an unknown amount.
    """

    rows: list[Population]
    series: Series
    first_round: int = 1
    idle: int = 0


def compared_rounds(arm: Arm, process: str) -> list[Round]:
    """Return the measured rounds whose census had an earlier one of this process to compare with."""
    return [r for r in _compared(arm, process) if r.phase == MEASURED]


def tracks(arm: Arm, process: str) -> list[Track]:
    """Return the containers that were named and that the last census has; another cannot be a suspect."""
    walked = walked_rounds(arm, process)
    compared = _compared(arm, process)
    if not compared:
        return []
    by_path = _rows_by_path(arm.populations, process, {r.index for r in walked})
    measured = sorted(r.index for r in arm.rounds if r.phase == MEASURED)
    cut = {one.round for one in arm.censuses if one.process == process and is_cut(one)}
    whole = [r for r in compared if r.index not in cut]
    named = [rows for rows in by_path.values() if walked[-1].index in rows]
    return [_track(rows, _since_cut(walked, rows, cut), whole, measured) for rows in named]


def is_cut(census: Census) -> bool:
    """Whether a census left out containers that grew, so that one without a row may have grown."""
    return any(text in census.partial for text in _LEFT_OUT)


def _since_cut(walked: list[Round], rows: dict[int, Population], cut: set[int]) -> list[Round]:
    """The rounds without those before the last census that was cut before a container was first named."""
    start = max((r.index for r in walked if r.index < min(rows) and r.index in cut), default=0)
    return [r for r in walked if r.index >= start]


def _compared(arm: Arm, process: str) -> list[Round]:
    """The judged rounds whose census had an earlier one to compare with: the first of all names nothing."""
    first = min((c.round for c in arm.censuses if c.process == process), default=0)
    return [r for r in walked_rounds(arm, process) if r.index > first]


def _track(rows: dict[int, Population], walked: list[Round], whole: list[Round], measured: list[int]) -> Track:
    ordered = [rows[index] for index in sorted(rows)]
    first = ordered[0]
    points = [(row.requests, float(row.length)) for row in ordered]
    before = [r for r in walked if r.index < first.round]
    begins = first.round
    idle = sum(walked[0].index <= r.index < begins for r in whole)
    # A series that began with this round would hide that it did not grow in the one before.
    if before and _is_known(first) and not (idle and len(before) == 1):
        held = float(first.length - (first.grown or 0))
        points = [*((r.total_requests, held) for r in before), *points]
        begins, idle = before[0].index, 0
    return Track(ordered, series_of(points), 1 + sum(index <= begins for index in measured), idle)


def _is_known(first: Population) -> bool:
    """Whether a container held something before it was first named; an empty one may not have been there."""
    return first.grown is not None and first.grown < first.length


def _rows_by_path(
    populations: Iterable[Population], process: str, indexes: set[int]
) -> dict[str, dict[int, Population]]:
    by_path: dict[str, dict[int, Population]] = {}
    for row in populations:
        if row.process == process and row.round in indexes:
            by_path.setdefault(row.path, {})[row.round] = row
    return by_path
