# SPDX-License-Identifier: Apache-2.0
"""A cache with a maxsize that nobody looks at."""

from __future__ import annotations

import itertools

PATH = "limit_not_kept.CACHE.entries"


class Cache:
    def __init__(self, maxsize: int) -> None:
        self.maxsize = maxsize
        self.entries: dict[int, object] = {}


CACHE = Cache(32)
KEYS = itertools.count()


def step() -> None:
    CACHE.entries[next(KEYS)] = object()
