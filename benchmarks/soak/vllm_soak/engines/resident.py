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


@dataclass(slots=True)
class Least:
    """The least bytes in use of each process over a window.

    Args:
        by_pid: Bytes by pid.
    """

    by_pid: dict[int, float] = field(default_factory=dict)

    def look(self, pids: list[int]) -> None:
        """Read the processes once."""
        for pid in pids:
            now = in_use(pid)
            if now is not None:
                self.by_pid[pid] = min(now, self.by_pid.get(pid, now))
