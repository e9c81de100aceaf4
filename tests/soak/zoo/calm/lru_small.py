# SPDX-License-Identifier: Apache-2.0
"""A cache that meets its bound during warm-up."""

from __future__ import annotations

import functools
import itertools

KEYS = itertools.count()


@functools.lru_cache(maxsize=16)
def lookup(key: int) -> str:
    return str(key)


def step() -> None:
    lookup(next(KEYS))
