# SPDX-License-Identifier: Apache-2.0
"""A memoised class method that is far from its limit."""

from __future__ import annotations

import functools
import itertools

KEYS = itertools.count()


class Model:
    @classmethod
    @functools.lru_cache(maxsize=128)
    def lookup(cls, key: int) -> str:
        return str(key)


def step() -> None:
    Model.lookup(next(KEYS))
