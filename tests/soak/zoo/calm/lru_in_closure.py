# SPDX-License-Identifier: Apache-2.0
"""A decorator with a limit of its own on the way to that."""

from __future__ import annotations

import itertools
from collections.abc import Callable

KEYS = itertools.count()


def memoised(maxsize: int) -> Callable[[Callable[[int], object]], Callable[[int], object]]:
    def decorate(function: Callable[[int], object]) -> Callable[[int], object]:
        known: dict[int, object] = {}

        def look_up(key: int) -> object:
            if key not in known:
                if len(known) >= maxsize:
                    del known[next(iter(known))]
                known[key] = function(key)
            return known[key]

        return look_up

    return decorate


@memoised(maxsize=1000)
def made(key: int) -> object:
    return [key]


def step() -> None:
    made(next(KEYS))
