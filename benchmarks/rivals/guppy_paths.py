# SPDX-License-Identifier: Apache-2.0
"""guppy3 by the expert's route: which list grew, by identity, and then the shortest path to it."""

from __future__ import annotations

import importlib
from typing import Any

from rivals.adapter import Adapter
from rivals.evidence import Reading

# The largest lists that are compared, and those that grew most whose path is asked for.
LISTS = 100
PATHS = 2


class GuppyPaths(Adapter):
    """`(heap & list).byid` twice, then `shpaths`: one has to know that it is a list."""

    def start(self) -> None:
        """Sizes of the largest lists."""
        self.heapy: Any = importlib.import_module("guppy").hpy()
        self.before = self._sizes()

    def read(self, requests: int) -> Reading:  # noqa: ARG002 - this tool does not count
        """Paths of the lists that grew most."""
        lists = self._lists()
        grown: list[tuple[int, int]] = []
        for at in range(min(LISTS, len(lists))):
            one = lists[at].theone
            more = one.__sizeof__() - self.before.get(id(one), one.__sizeof__())
            if more > 0:
                grown.append((more, at))
            del one
        grown.sort(reverse=True)
        return Reading([self._path(lists[at]) for _, at in grown[:PATHS]])

    def stop(self) -> None:
        """Drop its state."""
        del self.heapy

    def _lists(self) -> Any:
        return (self.heapy.heap() & list).byid

    def _sizes(self) -> dict[int, int]:
        lists = self._lists()
        return {id(lists[at].theone): lists[at].theone.__sizeof__() for at in range(min(LISTS, len(lists)))}

    @staticmethod
    def _path(one: Any) -> str:
        return " ".join(str(one.shpaths).split())
