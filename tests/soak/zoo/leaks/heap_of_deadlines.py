# SPDX-License-Identifier: Apache-2.0
"""A heap of deadlines of which none comes due."""

from __future__ import annotations

import heapq

PATH = "heap_of_deadlines.SERVICE.deadlines"


class Service:
    def __init__(self) -> None:
        self.deadlines = []


SERVICE = Service()


def step() -> None:
    heapq.heappush(SERVICE.deadlines, (1e9 + len(SERVICE.deadlines), object()))
