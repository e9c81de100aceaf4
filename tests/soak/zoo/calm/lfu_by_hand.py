# SPDX-License-Identifier: Apache-2.0
"""A cache with counters beside it, on the way to a number that only its code compares with."""

from __future__ import annotations

import itertools


class Cache:
    def __init__(self) -> None:
        self.entries: dict[int, object] = {}
        self.hits: dict[int, int] = {}

    def get(self, key: int) -> object:
        if key not in self.entries:
            if len(self.entries) >= 60_000:
                least = min(self.hits, key=self.hits.__getitem__)
                del self.entries[least], self.hits[least]
            self.entries[key] = object()
            self.hits[key] = 0
        self.hits[key] += 1
        return self.entries[key]


CACHE = Cache()
KEYS = itertools.count()


def step() -> None:
    CACHE.get(next(KEYS))
