# SPDX-License-Identifier: Apache-2.0
"""memray's Tracker in the engine's process."""

from __future__ import annotations

import importlib
from typing import Any

from rivals.clock import Stopwatch, added
from rivals.evidence import Reading
from rivals.memray_capture import Captures, leaked


class MemrayTracker(Captures):
    """A fresh capture for each window."""

    def start(self) -> None:
        """Open a capture."""
        self.tracker: Any = importlib.import_module("memray").Tracker(self.opened())
        self.tracker.__enter__()

    def stop(self) -> None:
        """Close the capture."""
        self.tracker.__exit__(None, None, None)
        self.closed()

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
