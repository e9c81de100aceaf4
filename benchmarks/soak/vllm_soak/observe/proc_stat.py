# SPDX-License-Identifier: Apache-2.0
"""One line of `/proc/<pid>/stat`: who a process is, whose child, and what it has used."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

TICKS = float(os.sysconf("SC_CLK_TCK"))
ENDED = frozenset("ZXx")


@dataclass(frozen=True, slots=True)
class Stat:
    """What the kernel counts of a process (proc(5)).

    Args:
        started: Clock ticks after boot; with the pid it names a process for good, for pids are used again.
        cpu: Seconds of processor time, user and system, of all its threads.
        minor_faults: Page faults that needed no disk.
        major_faults: Page faults that did.
    """

    pid: int
    parent: int
    session: int
    state: str
    started: int
    cpu: float
    threads: int
    minor_faults: int
    major_faults: int

    @property
    def alive(self) -> bool:
        """Whether it still runs: a zombie does not."""
        return self.state not in ENDED


def read_stat(pid: int) -> Stat | None:
    """Return a process's line, or None when there is no such process."""
    text = read_text(f"/proc/{pid}/stat")
    # The command may hold brackets and spaces; nothing after its closing bracket does.
    fields = text.rpartition(")")[2].split()
    if len(fields) < 20:
        return None
    return Stat(
        pid=pid,
        parent=int(fields[1]),
        session=int(fields[3]),
        state=fields[0],
        started=int(fields[19]),
        cpu=(int(fields[11]) + int(fields[12])) / TICKS,
        threads=int(fields[17]),
        minor_faults=int(fields[7]),
        major_faults=int(fields[9]),
    )


def read_text(path: str | Path) -> str:
    """Return a small file of /proc or /sys, or an empty string when it cannot be read."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return ""
    try:
        # One read is one consistent answer of the kernel; none of these files is longer.
        return os.read(handle, 256 * 1024).decode(errors="replace")
    except OSError:
        return ""
    finally:
        os.close(handle)
