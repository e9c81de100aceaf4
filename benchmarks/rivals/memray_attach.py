# SPDX-License-Identifier: Apache-2.0
"""`memray attach` to the EngineCore child: a debugger injects the Tracker."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rivals.adapter import Adapter
from rivals.evidence import Reading
from rivals.memray_records import leaked

PATIENCE = 60.0


class MemrayAttach(Adapter):
    """Attach, serve a window, detach, read."""

    child = True
    beside = True
    size = 600

    def __init__(self, folder: Path, pid: int | None = None) -> None:
        super().__init__(folder, pid)
        self.count = 0
        self.disk = 0

    def start(self) -> None:
        """Attach with a new capture."""
        self.count += 1
        self.capture = self.folder / f"capture-{self.count}.bin"
        self._memray("attach", "--output", str(self.capture), str(self.pid))

    def stop(self) -> None:
        """Detach."""
        self._memray("detach", str(self.pid))
        self.disk = max(self.disk, self.capture.stat().st_size)

    on, off = start, stop

    def read(self, requests: int) -> Reading:  # noqa: ARG002 - this tool does not count
        """Detach, read the capture, attach anew."""
        self.stop()
        lines = leaked(self.capture)
        self.start()
        return Reading(lines)

    def acts(self) -> dict[str, Callable[[], None]]:
        """Attach and detach."""
        return {"beside": self._once}

    def _once(self) -> None:
        self.start()
        self.stop()

    def _memray(self, *arguments: str) -> None:
        where = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        command = [sys.executable, "-m", "memray", *arguments]
        done = subprocess.run(
            command, env=where, check=False, capture_output=True, text=True, timeout=PATIENCE, stdin=subprocess.DEVNULL
        )
        if done.returncode:
            raise RuntimeError(f"memray {arguments[0]} failed: {(done.stdout + done.stderr).strip()[-400:]}")

    def facts(self) -> dict[str, Any]:
        """The largest capture, in bytes."""
        return {"capture_bytes": self.disk}
