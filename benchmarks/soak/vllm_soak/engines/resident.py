# SPDX-License-Identifier: Apache-2.0
"""Bytes in use of another process, from outside: the least of a window, so that what is in flight counts least."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

FIELDS = ("RssAnon:", "VmSwap:")
KIB = 1024


def in_use(pid: int) -> float | None:
    """Anonymous resident bytes and swap of a process, or None when it cannot be read."""
    with suppress(OSError, ValueError, IndexError):
        lines = Path(f"/proc/{pid}/status").read_text(encoding="ascii", errors="replace").splitlines()
        found = [int(line.split()[1]) * KIB for line in lines if line.startswith(FIELDS)]
        return float(sum(found)) if found else None
    return None


@dataclass(frozen=True, slots=True)
class Reading:
    """Bytes in use of a process, and the requests that had been finished by then."""

    bytes: float
    requests: int


@dataclass(slots=True)
class Least:
    """The least bytes in use of each process over a window.

    What grows has its least at the beginning of a window and not at its end: the count of requests is that of the same
    moment, so that both go together.

    Args:
        by_pid: Readings by pid.
    """

    by_pid: dict[int, Reading] = field(default_factory=dict)

    def look(self, pids: list[int], requests: int) -> None:
        """Read the processes once."""
        for pid in pids:
            now, least = in_use(pid), self.by_pid.get(pid)
            if now is not None and (least is None or now < least.bytes):
                self.by_pid[pid] = Reading(now, requests)
