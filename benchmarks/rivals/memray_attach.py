# SPDX-License-Identifier: Apache-2.0
"""`memray attach` to the EngineCore child: a debugger injects the Tracker."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable

from rivals.evidence import Reading
from rivals.memray_capture import Captures, leaked

PATIENCE = 60.0
# Enough for the debugger to be let in, little enough not to be the measured work.
SERVED, GAP = 4, 0.1


def sleep(_requests: int) -> None:
    """Let others work."""
    time.sleep(0.05)


class MemrayAttach(Captures):
    """Attach, serve a window, detach, read."""

    child = True
    beside = True

    def start(self) -> None:
        """Attach with a new capture."""
        self._memray("attach", "--output", self.opened(), str(self.pid))

    def stop(self) -> None:
        """Detach."""
        self._memray("detach", str(self.pid))
        self.closed()

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
        serve, self.serve = self.serve, sleep  # another thread keeps the engine busy
        try:
            self.start()
            self.stop()
        finally:
            self.serve = serve

    def _memray(self, *arguments: str) -> None:
        """Run memray while the engine serves: its debugger waits for the target to allocate, so an idle one hangs it.

        Raises:
            RuntimeError: memray failed, or was not done in time.
        """
        where = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        log = self.folder / "memray.log"
        with log.open("wb") as sink:
            process = subprocess.Popen(
                [sys.executable, "-m", "memray", *arguments],
                env=where,
                stdin=subprocess.DEVNULL,
                stdout=sink,
                stderr=sink,
                start_new_session=True,
            )
            until = time.monotonic() + PATIENCE
            while process.poll() is None and time.monotonic() < until:
                self.serve(SERVED)
                time.sleep(GAP)
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)  # its debugger too, which would keep the target stopped
        if process.wait():
            raise RuntimeError(f"memray {arguments[0]} failed: {log.read_text(errors='replace').strip()[-400:]}")
