# SPDX-License-Identifier: Apache-2.0
"""objgraph.growth(): types whose number of instances rose."""

from __future__ import annotations

import importlib
from typing import Any

from rivals.adapter import Adapter
from rivals.evidence import Reading


class Objgraph(Adapter):
    """Counts by type, of what `gc.get_objects()` shows."""

    def start(self) -> None:
        """Remember today's peaks."""
        self.peaks: dict[str, int] = {}
        importlib.import_module("objgraph").growth(limit=None, peak_stats=self.peaks)

    def read(self, requests: int) -> Reading:  # noqa: ARG002 - this tool does not count
        """Types with more instances than ever, the largest growth first."""
        objgraph: Any = importlib.import_module("objgraph")
        rows = objgraph.growth(limit=None, peak_stats=self.peaks)
        return Reading([f"{name} {count} +{delta}" for name, count, delta in rows])
