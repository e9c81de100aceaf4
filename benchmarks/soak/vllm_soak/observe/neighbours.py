# SPDX-License-Identifier: Apache-2.0
"""Processor time on this machine that neither the target nor vllm-soak used: a neighbour's, or another guest's.

What the machine used in all, less the target's tree, less the controller and its children (the load process among
them). What is left is programs that share the machine.
"""

from __future__ import annotations

import os
from collections.abc import Collection

from vllm_soak.observe.counts import Counts
from vllm_soak.observe.proc_stat import TICKS, read_stat, read_text

# Fields of the first line of /proc/stat that are work (proc(5)): all but idle, iowait and steal; guest time is in user.
WORK = (0, 1, 2, 5, 6)
STEAL = 7


class Neighbours:
    """Reads how many cores others use, from one call to the next."""

    def __init__(self) -> None:
        self._counts: Counts | None = None

    def read(self, now: float, target: float | None, members: Collection[int]) -> dict[str, float]:
        """Return `others_cores` and `steal_cores` since the call before; empty in the first, and without /proc/stat.

        Args:
            now: Seconds of a steady clock.
            target: Cores that the target's tree used since the call before.
            members: Pids of the target's tree, which may be below the controller and is not counted twice.
        """
        later = Counts(now, {**processors(), "own": own_seconds(members)})
        rates = self._counts.rates(later) if self._counts else {}
        self._counts = later
        values = {"steal_cores": rates["steal"]} if "steal" in rates else {}
        if target is not None and {"work", "own"} <= rates.keys():
            values["others_cores"] = max(0.0, rates["work"] - rates["own"] - target)
        return values


def processors() -> dict[str, float]:
    """Return seconds since the start of the machine, over all cores: `work`, and `steal` (taken by other guests)."""
    fields = read_text("/proc/stat").partition("\n")[0].split()[1:]
    if len(fields) <= STEAL:
        return {}
    return {"work": sum(int(fields[at]) for at in WORK) / TICKS, "steal": int(fields[STEAL]) / TICKS}


def own_seconds(members: Collection[int]) -> float:
    """Return processor seconds of this process and its children, dead and alive, without the target's."""
    threads = os.listdir("/proc/self/task")  # noqa: PTH208 - names only
    pids = " ".join(read_text(f"/proc/self/task/{thread}/children") for thread in threads).split()
    stats = [read_stat(pid) for pid in map(int, pids) if pid not in members]
    return sum(os.times()[:4]) + sum(one.cpu for one in stats if one is not None)
