# SPDX-License-Identifier: Apache-2.0
"""The machine: memory left, shared memory in use, and pressure."""

from __future__ import annotations

import os
import re
from pathlib import Path

from vllm_soak.observe.control_group import pressure
from vllm_soak.observe.proc_stat import read_text

MEMINFO = re.compile(r"^(MemTotal|MemAvailable|SwapTotal|SwapFree|Shmem):\s+(\d+) kB$", re.MULTILINE)
NAMES = {
    "MemTotal": "mem_total",
    "MemAvailable": "mem_available",
    "SwapTotal": "swap_total",
    "SwapFree": "swap_free",
    "Shmem": "shmem",
}
RESOURCES = ("cpu", "memory", "io")


def read_host() -> dict[str, float]:
    """Return `mem_total`, `mem_available`, `swap_total`, `swap_free`, `shmem` in bytes, and pressure in seconds."""
    values = {NAMES[name]: 1024.0 * int(number) for name, number in MEMINFO.findall(read_text("/proc/meminfo"))}
    for kind in RESOURCES:
        values |= pressure(Path("/proc/pressure") / kind, kind)
    return values


def shared_memory(pid: int) -> dict[str, float]:
    """Return `dev_shm`, the bytes that files take in `/dev/shm` as a process sees it."""
    for place in (f"/proc/{pid}/root/dev/shm", "/dev/shm"):  # noqa: S108 - measured, not written to
        try:
            found = os.statvfs(place)
        except OSError:
            continue
        return {"dev_shm": float((found.f_blocks - found.f_bfree) * found.f_frsize)}
    return {}
