# SPDX-License-Identifier: Apache-2.0
"""What /proc says of one process and of the machine at one moment, as text to be read by people."""

from __future__ import annotations

import os
from pathlib import Path

from vllm_soak.observe.control_group import control_group_of
from vllm_soak.observe.proc_stat import read_text

PROCESS = ("cmdline", "status", "stat", "schedstat", "limits", "smaps_rollup", "io", "cgroup", "wchan")
HOST = ("loadavg", "meminfo", "pressure/cpu", "pressure/memory", "pressure/io", "stat")
GROUP = (
    "memory.current", "memory.max", "memory.high", "memory.stat", "memory.events", "memory.pressure",
    "cpu.max", "cpu.stat", "cpu.pressure", "io.pressure",
    "memory.usage_in_bytes", "memory.limit_in_bytes",
)  # fmt: skip
MOST_THREADS = 1000
# /proc/<pid>/smaps of a process with thousands of mappings has some megabytes.
LONGEST_SMAPS = 16 * 1024 * 1024


def process_page(pid: int) -> str:
    """Return the files of a process that tell how it stands."""
    return "".join(headed(f"/proc/{pid}/{name}", read_text(f"/proc/{pid}/{name}")) for name in PROCESS)


def host_page(pid: int) -> str:
    """Return load, memory and pressure of the machine, and of the control group of a process."""
    page = "".join(headed(f"/proc/{name}", read_text(f"/proc/{name}")) for name in HOST)
    group = control_group_of(pid)
    places = [place for place in (group.unified, group.memory) if place is not None]
    return page + "".join(headed(str(place / name), read_text(place / name)) for place in places for name in GROUP)


def threads_page(pid: int) -> str:
    """Return one line a thread: state, seconds on a core and waiting for one, times switched to, name, wait channel."""
    try:
        threads = sorted(map(int, os.listdir(f"/proc/{pid}/task")))[:MOST_THREADS]  # noqa: PTH208 - names only
    except OSError:
        return ""
    head = f"{'thread':>8} {'state':5} {'on core s':>12} {'waited s':>12} {'switched to':>12} {'name':15} sleeps in\n"
    return head + "".join(thread_line(pid, thread) for thread in threads)


def thread_line(pid: int, thread: int) -> str:
    """Return one thread's line, empty when it is gone."""
    place = f"/proc/{pid}/task/{thread}"
    counts, stat = read_text(f"{place}/schedstat").split(), read_text(f"{place}/stat")
    if len(counts) < 3 or not stat:
        return ""
    name, state = stat[stat.find("(") + 1 : stat.rfind(")")], stat.rpartition(")")[2].split()[0]
    on_core, waited = int(counts[0]) / 1e9, int(counts[1]) / 1e9
    where = read_text(f"{place}/wchan") or "?"
    return f"{thread:>8} {state:5} {on_core:>12.2f} {waited:>12.2f} {int(counts[2]):>12} {name:15} {where}\n"


def mappings(pid: int) -> bytes:
    """Return `/proc/<pid>/smaps`, cut where it becomes too long; empty where it may not be read."""
    try:
        with Path(f"/proc/{pid}/smaps").open("rb") as source:
            return source.read(LONGEST_SMAPS)
    except OSError:
        return b""


def headed(name: str, text: str) -> str:
    """Return a file's text below its name; what is empty is left out."""
    readable = text.replace("\0", " ").rstrip()
    return f"== {name}\n{readable}\n\n" if readable else ""
