# SPDX-License-Identifier: Apache-2.0
"""What an arm drives: one process that hosts an engine, or a server with its tree of processes."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from vllm_soak.engines.dialogue import OnEvent, Progress
from vllm_soak.engines.silence import OnSilence
from vllm_soak.errors import EngineError


@dataclass(frozen=True, slots=True)
class Tree:
    """A server's processes.

    Args:
        root: Pid of the topmost.
        url: Where the server listens.
        roles: Pids by role.
        sockets: Sockets of the probes, by pid.
        log: What it prints, or None.
    """

    root: int
    url: str
    roles: dict[str, int]
    sockets: dict[int, Path]
    log: Path | None


class Soaked(Protocol):
    """The engine of one arm, from the controller's side."""

    def launch(self) -> None:
        """Start it without waiting for anything."""

    def request(
        self,
        command: str,
        *,
        on_progress: Progress | None = None,
        on_silence: OnSilence | None = None,
        on_event: OnEvent | None = None,
        **arguments: Any,
    ) -> dict[str, Any]:
        """Send one command of `docs/contracts.md` and wait for its answer.

        Raises:
            EngineError: The engine answered with a failure, ended, or was silent for too long.
        """
        ...

    def probe_sockets(self) -> list[Path]:
        """Sockets of the probes of its processes."""
        ...

    def tree(self) -> Tree | None:
        """Its processes for those who watch them from outside; None for a single host process."""
        ...

    def death(self) -> EngineError | None:
        """How it ended by itself; None while it runs and after `stop`."""
        ...

    def held(self) -> list[str]:
        """Its processes that a signal or a tracer holds, as the user is told of them; empty after `stop`."""
        ...

    def stop(self) -> None:
        """End it and everything that it started."""


def unique_role(role: str, taken: Collection[str]) -> str:
    """A role that no other process has: `APIServer`, then `APIServer-2`."""
    number = 1
    while (name := role if number == 1 else f"{role}-{number}") in taken:
        number += 1
    return name
