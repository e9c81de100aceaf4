# SPDX-License-Identifier: Apache-2.0
"""A cache that is still filling towards its bound when the rounds end."""

from __future__ import annotations

import functools
import itertools

KEYS = itertools.count()


@functools.lru_cache(maxsize=10_000)
def lookup(key: int) -> str:
    return str(key)


def step() -> None:
    lookup(next(KEYS))
