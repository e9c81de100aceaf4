# SPDX-License-Identifier: Apache-2.0
"""Writes down how a target stands at one moment: stacks, garbage collector, heap, /proc, pressure, GPUs, log.

Bounded: so many in a run, so far apart, so long each. A capture never ends a run: what cannot be had is a note.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path

from vllm_soak.steps.contents import LONGEST_SECONDS, Sources, fill
from vllm_soak.steps.shelf import Shelf
from vllm_soak.store.record import Capture

FOLDER = "captures"
BASELINE = "baseline"
# Captures of steps in one run; a baseline is one more.
MOST = 3
APART_SECONDS = 300.0


class Capturer:
    """Takes captures, one at a time, in a thread of its own: the load goes on meanwhile.

    Args:
        run_folder: The run folder; files go to `captures/<number>` in it.
        sources: Where to look.
        on_capture: Takes the record of each capture when it is done, in the capture's thread.
        arm: Name of the arm.
        most: Captures of steps in this run.
        apart: Seconds from one to the next, at least.
    """

    def __init__(
        self,
        run_folder: Path,
        sources: Sources,
        on_capture: Callable[[Capture], None],
        *,
        arm: str = "run",
        most: int = MOST,
        apart: float = APART_SECONDS,
    ) -> None:
        self._run_folder = run_folder
        self._sources = sources
        self._on_capture = on_capture
        self._arm = arm
        self._most = most
        self._apart = apart
        self._taken = 0
        self._last = -apart
        self._thread: threading.Thread | None = None

    def request(self, reason: str, elapsed: float) -> str:
        """Begin a capture; return why none is taken, or an empty string.

        Args:
            reason: `BASELINE`, or what happened.
            elapsed: Now, on the arm's time axis.
        """
        refused = self._refusal(reason, elapsed)
        if refused:
            return refused
        if reason != BASELINE:
            self._taken += 1
            self._last = elapsed
        self._thread = threading.Thread(
            target=self._take, args=(reason, elapsed), name="vllm-soak-capture", daemon=True
        )
        self._thread.start()
        return ""

    def wait(self, seconds: float = LONGEST_SECONDS) -> None:
        """Wait for the capture under way."""
        if self._thread is not None:
            self._thread.join(seconds)

    def _refusal(self, reason: str, elapsed: float) -> str:
        if self._thread is not None and self._thread.is_alive():
            return "a capture is under way"
        if reason == BASELINE:
            return ""
        if self._taken >= self._most:
            return f"{self._most} captures were taken in this run"
        return "" if elapsed - self._last >= self._apart else f"one was taken less than {self._apart:g} s before"

    def _take(self, reason: str, elapsed: float) -> None:
        number = f"{self._arm}-{BASELINE}" if reason == BASELINE else f"{self._arm}-{self._taken}"
        began = time.monotonic()
        shelf = Shelf(self._run_folder / FOLDER / number)
        fill(shelf, self._sources, began + LONGEST_SECONDS)
        seconds = time.monotonic() - began
        place = f"{FOLDER}/{number}"
        self._on_capture(Capture(self._arm, elapsed, seconds, reason, place, shelf.files, shelf.notes))
