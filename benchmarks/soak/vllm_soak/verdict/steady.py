# SPDX-License-Identifier: Apache-2.0
"""When warm-up is over: not after a time, but once growth has stopped changing its shape.

A container that fills towards a bound, appears late or grows ever slower belongs to warm-up. One that
grows at the same rate round after round does not keep warm-up going: it is what the measured rounds
are there to judge. The same holds of memory that no container explains: native code that keeps something
for each new shape of a batch takes less and less, until it has met them all.
"""

from __future__ import annotations

from collections.abc import Iterable

from vllm_soak.plan import FEWEST_WARM_UP_ROUNDS
from vllm_soak.store.record import Arm, Population
from vllm_soak.verdict.growth import FEWEST_ENTRIES
from vllm_soak.verdict.native import SETTLED_SHARE, slowing_processes

# FEWEST_WARM_UP_ROUNDS: a baseline, a first growth, and a second to compare it with.
# A container fills when it is longer than ever before by this share of its bound; less is the coming and going of one
# that is full, and would take a hundred rounds.
FILLING_SHARE = 0.01


def growth_by_path(populations: Iterable[Population], index: int) -> dict[str, int]:
    """Entries that each container gained between the censuses of round `index - 1` and `index`.

    A container that only the later census names is left out: a census names a container once it has
    grown, so its length before is not known.
    """
    lengths: dict[str, dict[int, int]] = {}
    for row in populations:
        if row.round in (index - 1, index):
            lengths.setdefault(f"{row.process} {row.path}", {})[row.round] = row.length
    known = {path: by_round for path, by_round in lengths.items() if len(by_round) == 2}
    return {
        path: by_round[index] - by_round[index - 1]
        for path, by_round in known.items()
        if by_round[index] > by_round[index - 1]
    }


def filling(populations: Iterable[Population], index: int, growing: dict[str, int]) -> list[str]:
    """Paths of containers with a known bound that are longer than ever before round `index` and have not met it."""
    rows = [row for row in populations if f"{row.process} {row.path}" in growing]
    longest: dict[tuple[str, str], int] = {}
    for row in rows:
        if row.round < index:
            longest[row.process, row.path] = max(row.length, longest.get((row.process, row.path), 0))
    return [
        row.path
        for row in rows
        if row.round == index
        and row.bound is not None
        and longest[row.process, row.path] + FILLING_SHARE * row.bound < row.length < row.bound
    ]


def material(entries: int) -> int:
    """Entries that a container gained in a round, none when they are as few as no verdict looks at."""
    return entries if entries >= FEWEST_ENTRIES else 0


def unsettled(arm: Arm) -> str:
    """Say why an arm's warm-up is not over yet, or answer an empty string when it is.

    Args:
        arm: The arm so far; its last round is the one just finished.
    """
    done = len(arm.rounds)
    if done < FEWEST_WARM_UP_ROUNDS:
        return f"{done} of at least {FEWEST_WARM_UP_ROUNDS} warm-up rounds done"
    last = arm.rounds[-1].index
    now, before = growth_by_path(arm.populations, last), growth_by_path(arm.populations, last - 1)
    still_filling = filling(arm.populations, last, now)
    if still_filling:
        return f"{still_filling[0]} is filling towards its bound"
    slowing = [path for path, added in now.items() if added < SETTLED_SHARE * material(before.get(path, 0))]
    if slowing:
        return f"{slowing[0]} is growing more slowly than in the round before"
    if grown := slowing_processes(arm):
        return f"memory of {grown[0]} is growing more slowly than before"
    return ""
