# SPDX-License-Identifier: Apache-2.0
"""A cachetools cache that is far from its bound."""

from __future__ import annotations

import itertools

import cachetools

REQUIRES = "cachetools"

CACHE: cachetools.LRUCache[int, str] = cachetools.LRUCache(maxsize=10_000)
KEYS = itertools.count()


def step() -> None:
    key = next(KEYS)
    CACHE[key] = str(key)
