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
from vllm_soak.store.outside import Capture

FOLDER = "captures"
BASELINE = "baseline"
# Captures of steps in one run; a baseline is one more, and so is one of what others on the machine did.
MOST = 3
MOST_OF_OTHERS = 1
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
        self._of_others = 0
        self._is_of_others = False
        self._last = -apart
        self._thread: threading.Thread | None = None

    def request(self, reason: str, elapsed: float, *, of_others: bool = False) -> str:
        """Begin a capture; return why none is taken, or an empty string.

        Args:
            reason: `BASELINE`, or what happened.
            elapsed: Now, on the arm's time axis.
            of_others: Whether others on the machine account for it; that leaves the captures of the server's own steps
                as many and as soon as they were.
        """
        refused = self._refusal(reason, elapsed, of_others=of_others)
        if refused:
            return refused
        name, before = self._name(reason, elapsed, of_others=of_others), self._thread
        self._is_of_others = of_others
        self._thread = threading.Thread(
            target=self._take, args=(reason, elapsed, name, before), name="vllm-soak-capture", daemon=True
        )
        self._thread.start()
        return ""

    def wait(self, seconds: float = LONGEST_SECONDS) -> None:
        """Wait for the capture under way."""
        if self._thread is not None:
            self._thread.join(seconds)

    def _refusal(self, reason: str, elapsed: float, *, of_others: bool) -> str:
        is_busy = self._thread is not None and self._thread.is_alive()
        if is_busy and (of_others or not self._is_of_others):
            return "a capture is under way"
        if reason == BASELINE:
            return ""
        if of_others:
            return "" if self._of_others < MOST_OF_OTHERS else "one was taken of what others on the machine did"
        if self._taken >= self._most:
            return f"{self._most} captures were taken in this run"
        return "" if elapsed - self._last >= self._apart else f"one was taken less than {self._apart:g} s before"

    def _name(self, reason: str, elapsed: float, *, of_others: bool) -> str:
        """Count a capture and return the name of its folder."""
        if reason == BASELINE:
            return f"{self._arm}-{BASELINE}"
        if of_others:
            self._of_others += 1
            return f"{self._arm}-others-{self._of_others}"
        self._taken += 1
        self._last = elapsed
        return f"{self._arm}-{self._taken}"

    def _take(self, reason: str, elapsed: float, name: str, before: threading.Thread | None) -> None:
        """Take a capture, after the one under way: what others did must not cost the capture of the server's step."""
        if before is not None:
            before.join()
        began = time.monotonic()
        shelf = Shelf(self._run_folder / FOLDER / name)
        fill(shelf, self._sources, began + LONGEST_SECONDS)
        seconds = time.monotonic() - began
        place = f"{FOLDER}/{name}"
        self._on_capture(Capture(self._arm, elapsed, seconds, reason, place, shelf.files, shelf.notes))
