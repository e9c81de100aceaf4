# SPDX-License-Identifier: Apache-2.0
"""Throughput of an engine with and without a census in slices, in pairs of neighbouring blocks."""

from __future__ import annotations

import statistics
import threading
import time
from collections.abc import Callable
from typing import Any


class Gated:
    """The pace of a sliced census that goes on only while it is let: a rest counts only then.

    Args:
        pace: The pace itself.
    """

    def __init__(self, pace: Any) -> None:
        self._pace = pace
        self.max_pause_ms, self.seconds = pace.max_pause_ms, 3600.0
        self._running, self._halted = threading.Event(), threading.Event()
        self.parked = threading.Event()

    def rest(self, worked: float) -> float:
        """Rest here, and then wait until the census may go on; nothing is left to rest for the caller."""
        left = self._pace.rest(worked)
        while left > 0:
            self.wait()
            began = time.monotonic()
            self._halted.wait(left)
            left -= time.monotonic() - began
        self.wait()
        return 0.0

    def wait(self) -> None:
        """Until the census may go on."""
        while not self._running.is_set():
            self.parked.set()
            self._running.wait()
        self.parked.clear()

    def let(self) -> None:
        """Let it go on."""
        self.parked.clear()
        self._halted.clear()
        self._running.set()

    def halt(self) -> None:
        """Halt it, and wait until it has ended the slice or the piece of work that it is at."""
        self._running.clear()
        self._halted.set()
        self.parked.wait(60)


class Background:
    """Sliced censuses, one after the other, in a thread.

    Args:
        max_pause_ms: Longest time that one holds the interpreter at once.
    """

    def __init__(self, max_pause_ms: float) -> None:
        from vllm_soak.heap.census import Census
        from vllm_soak.heap.pace import Pace

        self._census, self._gate = Census(), Gated(Pace(max_pause_ms=max_pause_ms))
        self._census.take(baseline=True)
        self._spent = 0.0
        self.seconds: list[float] = []
        threading.Thread(target=self._loop, daemon=True).start()

    def _loop(self) -> None:
        while True:
            self._gate.wait()
            began = self._running_for()
            self._census.take(pace=self._gate)  # type: ignore[arg-type]  # it paces alike
            self.seconds.append(self._running_for() - began)

    def _running_for(self) -> float:
        """Seconds for which censuses were let go on."""
        return self._spent + (time.monotonic() - self._since)

    def during(self, act: Callable[[], float]) -> float:
        """Do something while a census goes on."""
        self._since = time.monotonic()
        self._gate.let()
        try:
            return act()
        finally:
            self._gate.halt()
            self._spent = self._running_for()


def interval(values: list[float]) -> tuple[float, float]:
    """Bounds of the median that hold it with about 95 %, by order."""
    ordered = sorted(values)
    margin = round(0.98 * len(ordered) ** 0.5)
    middle = len(ordered) // 2
    return ordered[max(0, middle - margin)], ordered[min(len(ordered) - 1, middle + margin)]


def throughput(load: Callable[[int], float], background: Background, pairs: int, requests: int) -> dict[str, Any]:
    """Requests a second while a census goes on over without one, in short blocks side by side; and A/A."""

    def plain() -> float:
        return load(requests)

    ratios, control = [], []
    for turn in range(pairs):
        if turn % 2:
            first, second = plain(), background.during(plain)
        else:
            second, first = background.during(plain), plain()
        ratios.append(second / first)
        control.append(plain() / plain())
    return {
        "ratio": statistics.median(ratios),
        "interval": interval(ratios),
        "ratios": ratios,
        "control": statistics.median(control),
        "control_interval": interval(control),
        "controls": control,
        "census_s": statistics.median(background.seconds) if background.seconds else None,
        "censuses": len(background.seconds),
    }
