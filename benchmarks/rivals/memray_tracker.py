# SPDX-License-Identifier: Apache-2.0
"""memray's Tracker in the engine's process."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

from rivals.adapter import Adapter
from rivals.clock import Stopwatch, added
from rivals.evidence import Reading
from rivals.memray_records import leaked


class MemrayTracker(Adapter):
    """A fresh capture for each window, since a capture can be read only when it is closed.

    Windows are larger than those of other tools: the list's buffer moves only every few hundred requests.
    """

    size = 600

    def __init__(self, folder: Path, pid: int | None = None) -> None:
        super().__init__(folder, pid)
        self.count = 0
        self.disk = 0

    def start(self) -> None:
        """Open a capture."""
        self.count += 1
        self.capture = self.folder / f"capture-{self.count}.bin"
        self.tracker: Any = importlib.import_module("memray").Tracker(str(self.capture))
        self.tracker.__enter__()

    def stop(self) -> None:
        """Close the capture."""
        self.tracker.__exit__(None, None, None)
        self.disk = max(self.disk, self.capture.stat().st_size)

    on, off = start, stop

    def read(self, requests: int) -> Reading:  # noqa: ARG002 - this tool does not count
        """Close the capture, read it (any process can), and open the next one."""
        watch = Stopwatch()
        self.stop()
        closed = watch.read()
        lines = leaked(self.capture)
        watch = Stopwatch()
        self.start()
        return Reading(lines, added(closed, watch.read()))

    def facts(self) -> dict[str, Any]:
        """The largest capture, in bytes."""
        return {"capture_bytes": self.disk}
