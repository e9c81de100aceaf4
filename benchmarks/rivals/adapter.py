# SPDX-License-Identifier: Apache-2.0
"""What every tool offers to the session."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rivals.evidence import Reading


class Adapter:
    """One tool. This base does nothing: it is the control.

    Args:
        folder: Where the tool may write.
        pid: The process that holds the engine core: this one, or its child.

    Attributes:
        child: Whether the engine core runs in a child process.
        beside: Whether the tool reads while the engine serves; else the engine waits for it.
        windows: Windows at most, or None for the plan's.
        size: Requests of a window, or None for the plan's.
        serve: Serves so many requests; for tools that need the engine to move while they begin.
    """

    child = False
    beside = False
    windows: int | None = None
    size: int | None = None

    def __init__(self, folder: Path, pid: int | None = None) -> None:
        self.folder = folder
        self.pid = pid or os.getpid()
        self.serve: Callable[[int], Any] = lambda _requests: None
        self.records: list[dict[str, Any]] = []

    def start(self) -> None:
        """Begin to look, as of now."""

    def read(self, requests: int) -> Reading:
        """Say what has grown since `start`, after so many requests in all."""
        raise NotImplementedError

    def stop(self) -> None:
        """Stop looking, and give back what can be given back."""

    def on(self) -> None:
        """Do what has to be on while the engine serves; a tool that only reads has nothing to do."""

    def off(self) -> None:
        """Undo `on`."""

    def acts(self) -> dict[str, Callable[[], None]]:
        """Ways to read once beside the serving engine, by the name of the phase; none for tools that stop it."""
        return {}

    def facts(self) -> dict[str, Any]:
        """What else a report should know."""
        return {}
