# SPDX-License-Identifier: Apache-2.0
"""A hand-written LRU cache on the way to its maxsize."""

from __future__ import annotations

import itertools
from collections import OrderedDict


class Cache:
    def __init__(self, maxsize: int) -> None:
        self.maxsize = maxsize
        self.entries: OrderedDict[int, object] = OrderedDict()

    def add(self, key: int) -> None:
        self.entries[key] = object()
        if len(self.entries) > self.maxsize:
            self.entries.popitem(last=False)


CACHE = Cache(10_000)
KEYS = itertools.count()


def step() -> None:
    CACHE.add(next(KEYS))
