# SPDX-License-Identifier: Apache-2.0
"""Lengths of what was named, read more often than the heap is walked.

A census of a busy process takes seconds, and a handful of windows says little where the machine is shared: the work
that a CPU second does differs from one to the next. Between two censuses the lengths of all containers that are
known by then are read with the processor time, at the same moment. Each reading is a round of its own here.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from vllm_soak.store.record import MEASURED, WARM_UP, Arm, Population, Round
from vllm_soak.verdict.pace import FEWEST_POINTS
from vllm_soak.verdict.track import is_cut


class Glance(NamedTuple):
    """One reading.

    Args:
        ticks: Hundredths of a second of processor time since the reading before.
        passed: Hundredths of a second by the clock since then.
        lengths: Containers that have been named, by path.
    """

    ticks: int
    passed: int
    lengths: dict[str, int]


def closely(arm: Arm, glances: list[Glance], *, busy: bool) -> Arm:
    """The same process with a round for each reading: containers only, as the last census described them.

    Where a census left some out, one that was not named by then may have grown.

    Args:
        arm: What was seen window by window; its last round is one of these readings.
        glances: All readings, the first at the end of warm-up.
        busy: Whether work is counted by processor time, or by the clock.
    """
    last = {row.path: row for row in arm.populations if row.round == arm.rounds[-1].index}
    found = Arm(arm.name)
    census = next((one for one in arm.censuses if is_cut(one)), arm.censuses[-1])
    total = 0
    for index, glance in enumerate(glances):
        work = max(1, glance.ticks if busy else glance.passed)
        total += work
        phase = MEASURED if index else WARM_UP
        found.rounds.append(Round(arm.name, index, phase, work, total, glance.passed / 100))
        found.samples.append(replace(arm.samples[-1], round=index, requests=total))
        found.censuses.append(replace(census, round=index, requests=total))
        found.populations.extend(_rows(last, glance, index, total))
    return found


def scatter(glances: list[Glance], path: str, *, busy: bool) -> float:
    """How far a container's growth strays from its own trend by a measure of work, in parts of its mean rate.

    The lower, the better that measure tells the work: a process that polls while it waits takes processor time
    for nothing, and the load on another goes up and down with the clock. Infinite where it cannot be told.
    """
    points = [
        (glance.ticks if busy else glance.passed, glance.lengths[path]) for glance in glances if path in glance.lengths
    ]
    work = np.array([max(1, one) for one, _ in points[1:]], dtype=float)
    if len(work) < FEWEST_POINTS:
        return float("inf")
    rates, weights, done = np.diff([length for _, length in points]) / work, np.sqrt(work), np.cumsum(work)
    strays = weights * (rates - np.polyval(np.polyfit(done, rates, 1, w=weights), done))
    mean = abs(float(np.average(rates, weights=work)))
    return float(np.sqrt(np.mean(strays**2) / np.mean(work))) / mean if mean else float("inf")


def _rows(last: dict[str, Population], glance: Glance, index: int, total: int) -> list[Population]:
    return [
        replace(row, round=index, requests=total, length=glance.lengths[path], grown=None)
        for path, row in last.items()
        if path in glance.lengths
    ]
