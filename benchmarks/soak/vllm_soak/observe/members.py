# SPDX-License-Identifier: Apache-2.0
"""The members of a process tree under names that outlive a pid: `EngineCore` stays `EngineCore` when it restarts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from vllm_soak.observe.proc_stat import Stat
from vllm_soak.observe.process_reader import ProcessReader
from vllm_soak.observe.role import is_engine, role_of
from vllm_soak.observe.tree import ProcessTree

APPEARED, DIED, RESTARTED, RENAMED = "appeared", "died", "restarted", "renamed"
# A process is told from its second look on: compilers and `lscpu` come and go within one.
LOOKS_UNTIL_TOLD = 2
# What is not the engine's own gets a series of its own once it has stayed.
LOOKS_UNTIL_FOLLOWED = 10
MOST_FOLLOWED = 64

OnChange = Callable[[str, str, int, str], None]


@dataclass(slots=True)
class Member:
    """One process of the tree.

    Args:
        name: Its role; a second process of the same role at the same time is `Worker#2`.
        looks: How often it was seen alive.
    """

    pid: int
    name: str
    role: str
    reader: ProcessReader
    looks: int = 0


@dataclass(slots=True)
class Members:
    """Follows names and tells what changes.

    Args:
        tree: The processes.
        on_change: Takes kind, name, pid and a detail in words of each change.
        name_of: Role of a pid, an empty string when it is not known; asked first.
    """

    tree: ProcessTree
    on_change: OnChange
    name_of: Callable[[int], str] = lambda _pid: ""
    _living: dict[tuple[int, int], Member] = field(default_factory=dict)
    _dead: dict[str, int] = field(default_factory=dict)  # name to last pid

    def look(self) -> list[tuple[Member, Stat]]:
        """Return the members that live, with what was read of each."""
        stats = {(stat.pid, stat.started): stat for stat in self.tree.look().values()}
        for key in self._living.keys() - stats.keys():
            self._bury(self._living.pop(key))
        return [(self._greet(key, stat), stat) for key, stat in sorted(stats.items())]

    def followed(self, member: Member) -> bool:
        """Whether a member gets a series of its own: the root, the engine's own, and what stays."""
        return member.pid == self.tree.root or is_engine(member.role) or member.looks >= LOOKS_UNTIL_FOLLOWED

    @property
    def pids(self) -> dict[str, int]:
        """Pids of the living by name, those that were told only; any thread may ask."""
        return {one.name: one.pid for one in list(self._living.values()) if one.looks >= LOOKS_UNTIL_TOLD}

    def _greet(self, key: tuple[int, int], stat: Stat) -> Member:
        member = self._living.get(key)
        role = self.name_of(stat.pid) or role_of(stat.pid)
        if member is None:
            member = self._living[key] = Member(stat.pid, self._free(role), role, ProcessReader(stat.pid))
        member.looks += 1
        if role and role != member.role:
            self._rename(member, role)
        elif member.looks == LOOKS_UNTIL_TOLD:
            self._tell_new(member, APPEARED, "")
        return member

    def _rename(self, member: Member, role: str) -> None:
        before, told = member.name, member.looks > LOOKS_UNTIL_TOLD
        member.role, member.name = role, ""
        member.name = self._free(role)
        if told:
            self._tell_new(member, RENAMED, f"{before} before")
        elif member.looks == LOOKS_UNTIL_TOLD:
            self._tell_new(member, APPEARED, "")

    def _tell_new(self, member: Member, kind: str, detail: str) -> None:
        """Say that a name has a process now; one that a dead process had has restarted."""
        before = self._dead.pop(member.name, None)
        if before is None:
            self.on_change(kind, member.name, member.pid, detail)
        else:
            self.on_change(RESTARTED, member.name, member.pid, f"pid {before} before")

    def _bury(self, member: Member) -> None:
        if member.looks >= LOOKS_UNTIL_TOLD:
            self._dead[member.name] = member.pid
            self.on_change(DIED, member.name, member.pid, "")

    def _free(self, role: str) -> str:
        """Return a role as a name that no living member has."""
        taken = {one.name for one in self._living.values()}
        numbered = (f"{role}#{number}" for number in range(2, len(taken) + 3))
        return next(name for name in (role or "unknown", *numbered) if name not in taken)
