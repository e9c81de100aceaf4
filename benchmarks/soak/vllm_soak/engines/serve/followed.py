# SPDX-License-Identifier: Apache-2.0
"""A server's processes by role, and which of them ended first."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from vllm_soak.engines.soaked import unique_role
from vllm_soak.errors import EngineError
from vllm_soak.probe.client import ProbeClient

# A process of the server that is asked for its role answers at once, where the machine is not busy with others.
QUICK = 30.0


@dataclass(frozen=True, slots=True)
class Member:
    """One process that carries the probe.

    Args:
        role: What it is to the engine: `APIServer`, `EngineCore`, `Worker_TP0`.
        process: The process; a pid that is used again is told apart.
        socket: Its probe's socket.
        python: Version of its interpreter.
    """

    role: str
    process: psutil.Process
    socket: Path
    python: str = ""


@dataclass(slots=True)
class Followed:
    """The processes of one server.

    Args:
        members: Those that answered once the server was up.
        ended: Roles and pids of those that were gone when somebody was missing for the first time.
    """

    members: list[Member] = field(default_factory=list)
    ended: list[tuple[str, int]] = field(default_factory=list)

    def look(self) -> bool:
        """Note who is gone; return whether anybody is."""
        if not self.ended:
            self.ended = [(one.role, one.process.pid) for one in self.members if not lives(one.process)]
        return bool(self.ended)

    def stopped(self) -> list[Member]:
        """Those that a signal or a tracer holds."""
        return [one for one in self.members if is_held(one.process)]


def find_members(sockets: Iterable[Path]) -> list[Member]:
    """The processes that answer behind sockets, the oldest first; those that share a role are numbered."""
    answers: list[tuple[float, str, psutil.Process, Path, str]] = []
    for socket in sockets:
        with suppress(EngineError, psutil.Error):
            who = ProbeClient(socket, quick=QUICK).ping()
            process = psutil.Process(int(who["pid"]))
            answers.append((process.create_time(), str(who["process"]), process, socket, str(who["python"])))
    found: list[Member] = []
    for _, role, process, socket, python in sorted(answers, key=lambda one: (one[0], one[2].pid)):
        found.append(Member(unique_role(role, [one.role for one in found]), process, socket, python))
    return found


def in_words(members: Iterable[Member]) -> list[str]:
    """Processes as the user is told of them: `EngineCore (pid 4711)`."""
    return [f"{one.role} (pid {one.process.pid})" for one in members]


def lives(process: psutil.Process) -> bool:
    """Whether a process is there and has not ended."""
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False


def is_held(process: psutil.Process) -> bool:
    """Whether a signal or a tracer holds a process."""
    try:
        return process.status() in {psutil.STATUS_STOPPED, psutil.STATUS_TRACING_STOP}
    except psutil.Error:
        return False
