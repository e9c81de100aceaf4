# SPDX-License-Identifier: Apache-2.0
"""Numbers of one process over time: memory, processor time, faults, threads, files.

What is cheap is read each time. Proportional and unique memory (`pss`, `uss`) make the kernel walk the whole address
space, and the counts of context switches are kept per thread: both are read rarely, and the more rarely the longer
they take, so that they cost at most a thousandth of a core.
"""

from __future__ import annotations

import os
import re
import time

from vllm_soak.observe.counts import Counts
from vllm_soak.observe.proc_stat import Stat, read_text

STATUS = re.compile(r"^(VmRSS|RssAnon|RssShmem|VmSwap|VmHWM):\s+(\d+) kB$", re.MULTILINE)
STATUS_NAMES = {"VmRSS": "rss", "RssAnon": "rss_anon", "RssShmem": "rss_shmem", "VmSwap": "swap", "VmHWM": "hwm"}
ROLLUP = re.compile(r"^(Pss|Private_Clean|Private_Dirty):\s+(\d+) kB$", re.MULTILINE)
KIB = 1024.0
# Seconds between two thorough readings, at least; and how much longer than its cost that is.
THOROUGH_SECONDS = 30.0
THOROUGH_SHARE = 1000.0


class ProcessReader:
    """Reads one process.

    Args:
        pid: Its pid.
    """

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self._counts: Counts | None = None
        self._switches: Counts | None = None
        self._thorough_from = 0.0
        self._rare: dict[str, float] = {}

    def read(self, stat: Stat, now: float) -> dict[str, float]:
        """Return the process's values.

        Args:
            stat: What was read of it just now.
            now: Seconds of a steady clock.

        Returns:
            As in `docs/serve.md`: bytes, counts, and rates since the call before (none in the first call).
        """
        values = {**memory(self.pid), **open_files(self.pid), "threads": float(stat.threads)}
        faults = {"minor_faults": float(stat.minor_faults), "major_faults": float(stat.major_faults)}
        later = Counts(now, {"cores": stat.cpu, **faults, **main_wait(self.pid)})
        values |= self._counts.rates(later) if self._counts else {}
        self._counts = later
        return {**values, **self._thorough(now)}

    @property
    def rare(self) -> dict[str, float]:
        """What was read rarely, as of the last time."""
        return self._rare

    def _thorough(self, now: float) -> dict[str, float]:
        """Return what is read rarely, in the readings in which it was."""
        if now < self._thorough_from:
            return {}
        began = time.thread_time()
        later = Counts(now, switches(self.pid))
        rates = self._switches.rates(later) if self._switches else {}
        self._switches = later
        self._rare = {**rollup(self.pid), **rates}
        self._thorough_from = now + max(THOROUGH_SECONDS, THOROUGH_SHARE * (time.thread_time() - began))
        return self._rare


def memory(pid: int) -> dict[str, float]:
    """Return `rss`, `rss_anon`, `rss_shmem`, `swap`, `hwm` and `in_use` (anonymous, resident or swapped) in bytes."""
    found = STATUS.findall(read_text(f"/proc/{pid}/status"))
    values = {STATUS_NAMES[name]: KIB * int(number) for name, number in found}
    if "rss_anon" in values:
        values["in_use"] = values["rss_anon"] + values.get("swap", 0.0)
    return values


def open_files(pid: int) -> dict[str, float]:
    """Return `fds`; empty where another user's process keeps them to itself."""
    folder = f"/proc/{pid}/fd"
    try:
        # Linux 6.2 and later give the number as the folder's size; before, it is 0.
        size = os.stat(folder).st_size  # noqa: PTH116 - read every second
        return {"fds": float(size or len(os.listdir(folder)))}  # noqa: PTH208 - likewise
    except OSError:
        return {}


def rollup(pid: int) -> dict[str, float]:
    """Return `pss` and `uss` in bytes; empty where they may not be read."""
    found = {name: KIB * int(number) for name, number in ROLLUP.findall(read_text(f"/proc/{pid}/smaps_rollup"))}
    if len(found) < 3:
        return {}
    return {"pss": found["Pss"], "uss": found["Private_Clean"] + found["Private_Dirty"]}


def main_wait(pid: int) -> dict[str, float]:
    """Return `main_wait`: seconds that the main thread was ready without a core; the loops of an engine run there."""
    fields = read_text(f"/proc/{pid}/schedstat").split()
    return {"main_wait": int(fields[1]) / 1e9} if len(fields) == 3 else {}


def switches(pid: int) -> dict[str, float]:
    """Return counts over all threads: `switches` (times put on a core), `cpu_wait` (seconds ready without a core)."""
    try:
        threads = os.listdir(f"/proc/{pid}/task")  # noqa: PTH208 - many
    except OSError:
        return {}
    fields = [read_text(f"/proc/{pid}/task/{thread}/schedstat").split() for thread in threads]
    whole = [one for one in fields if len(one) == 3]
    return {
        "switches": float(sum(int(one[2]) for one in whole)),
        "cpu_wait": sum(int(one[1]) for one in whole) / 1e9,
    }
