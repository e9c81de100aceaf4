# SPDX-License-Identifier: Apache-2.0
"""The processes below a root, found again at every look, and never lost once found.

Every new pid is looked at once. It belongs to the tree when its parent does, or when it is in the session that the
root leads (an orphan whose parent ended before it was seen). A member stays one when its parent ends.
"""

from __future__ import annotations

import os

from vllm_soak.observe.proc_stat import Stat, read_stat

# Pids are used again: after this many looks the strangers are looked at once more.
LOOKS_UNTIL_AFRESH = 60


class ProcessTree:
    """Follows the tree below one process.

    Args:
        root: Pid of the root. It need not be alive, nor stay so.
    """

    def __init__(self, root: int) -> None:
        self.root = root
        self._members: dict[int, int] = {}  # pid to start time
        self._strangers: set[int] = set()
        self._looks = 0
        first = read_stat(root)
        self._session = root if first is not None and first.session == root else 0
        if first is not None:
            self._members[root] = first.started

    def look(self) -> dict[int, Stat]:
        """Return the members that live, by pid."""
        self._looks += 1
        if self._looks % LOOKS_UNTIL_AFRESH == 0:
            self._strangers.clear()
        alive = {pid: stat for pid, started in self._members.items() if (stat := _same(pid, started)) is not None}
        self._members = {pid: stat.started for pid, stat in alive.items()}
        return {**alive, **self._newcomers()}

    def _newcomers(self) -> dict[int, Stat]:
        """Return the members among pids not seen before; a parent may come after its child."""
        pids = {int(name) for name in os.listdir("/proc") if name.isdigit()}  # noqa: PTH208 - half the time of iterdir
        self._strangers &= pids
        unknown = {
            pid: stat
            for pid in pids - self._strangers - self._members.keys()
            if (stat := read_stat(pid)) is not None and stat.alive
        }
        found: dict[int, Stat] = {}
        while more := {pid: stat for pid, stat in unknown.items() if pid not in found and self._is_ours(stat)}:
            found |= more
            self._members |= {pid: stat.started for pid, stat in more.items()}
        self._strangers |= unknown.keys() - found.keys()
        return found

    def _is_ours(self, stat: Stat) -> bool:
        return stat.parent in self._members or (stat.session == self._session and self._session > 0)


def _same(pid: int, started: int) -> Stat | None:
    stat = read_stat(pid)
    return stat if stat is not None and stat.started == started and stat.alive else None
