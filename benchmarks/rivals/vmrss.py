# SPDX-License-Identifier: Apache-2.0
"""The slope of VmRSS over requests: what a dashboard shows."""

from __future__ import annotations

from pathlib import Path
from statistics import linear_regression
from typing import Any

from rivals.adapter import Adapter
from rivals.clock import status
from rivals.evidence import Reading

FEWEST = 3


class VmRss(Adapter):
    """Reads /proc/PID/status from outside."""

    def __init__(self, folder: Path, pid: int | None = None) -> None:
        super().__init__(folder, pid)
        self.points: list[tuple[int, float]] = []
        self.slopes: list[float] = []

    def start(self) -> None:
        """Forget the curve so far."""
        self.points = []

    def read(self, requests: int) -> Reading:
        """A number; it has no names in it."""
        self.points.append((requests, status(self.pid)["VmRSS"]))
        return Reading([])

    def stop(self) -> None:
        """Fit the line, unless this was only a test of speed."""
        if len(self.points) < FEWEST:
            return
        xs, ys = zip(*self.points, strict=True)
        self.slopes.append(linear_regression(xs, ys).slope)

    def facts(self) -> dict[str, Any]:
        """Slopes in bytes a request, one a phase."""
        return {"slopes": self.slopes}
