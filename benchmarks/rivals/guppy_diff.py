# SPDX-License-Identifier: Apache-2.0
"""guppy3 by the plain route: setref, then the heap of what is new, by type."""

from __future__ import annotations

import importlib
from typing import Any

from rivals.adapter import Adapter
from rivals.evidence import Reading

SHOWN = 50


class GuppyDiff(Adapter):
    """What a reader of its manual does first."""

    def start(self) -> None:
        """Set the reference point."""
        self.heapy: Any = importlib.import_module("guppy").hpy()
        self.heapy.setref()

    def read(self, requests: int) -> Reading:  # noqa: ARG002 - this tool does not count
        """Kinds of objects that are new since then, the largest first."""
        heap = self.heapy.heap()
        return Reading([str(row.name) for row in heap.partition.get_rows()][:SHOWN] if len(heap) else [])

    def stop(self) -> None:
        """Drop its state."""
        del self.heapy
