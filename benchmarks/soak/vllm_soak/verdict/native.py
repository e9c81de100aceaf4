# SPDX-License-Identifier: Apache-2.0
"""What a process's memory gained from round to round beyond its named containers, and whether that slows down."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from vllm_soak.store.record import Arm, Sample

# A rate that fell by more than this share between two rounds is still settling; identical rounds of
# work repeat a steady container's growth to within a few per cent.
SETTLED_SHARE = 0.75
# Memory that grew in a round by less than this, or by less than this share of what is in use, is not waited for: one
# new batch shape took 1.1 MiB in the CPU worker of a tiny model.
FLOOR_BYTES = 1 << 20
FLOOR_SHARE = 0.001


def native_growth(arm: Arm, process: str) -> list[float]:
    """Bytes that a process gained from each round to the next, without what its named containers gained.

    glibc's exact count where every sample has it, else bytes in use.
    """
    samples = sorted((one for one in arm.samples if one.process == process), key=lambda one: one.round)
    name = "allocated" if all("allocated" in one.values for one in samples) else "in_use"
    sizes: dict[int, dict[str, int]] = {}
    for row in arm.populations:
        if row.process == process:
            sizes.setdefault(row.round, {})[row.path] = row.shallow_bytes
    return [
        after.values[name] - before.values[name] - gained(sizes.get(before.round, {}), sizes.get(after.round, {}))
        for before, after in pairwise(samples)
        if name in before.values and name in after.values
    ]


def gained(before: dict[str, int], after: dict[str, int]) -> int:
    """Bytes that containers gained which two censuses have both named."""
    return sum(size - before[path] for path, size in after.items() if path in before)


def slowing_processes(arm: Arm) -> list[str]:
    """Processes whose memory grew in the last round, by less than in some round before."""
    last: dict[str, Sample] = {one.process: one for one in arm.samples}
    slowing = []
    for process, sample in last.items():
        growth = native_growth(arm, process)
        floor = max(FLOOR_BYTES, FLOOR_SHARE * sample.values.get("in_use", 0.0))
        if len(growth) > 1 and floor <= growth[-1] < SETTLED_SHARE * max(growth[:-1]):
            slowing.append(process)
    return slowing
