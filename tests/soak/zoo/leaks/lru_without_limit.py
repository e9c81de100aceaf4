# SPDX-License-Identifier: Apache-2.0
"""A function that is memoised without a limit."""

from __future__ import annotations

import functools
import itertools

PATH = "lru_without_limit.lookup.<dict>"

KEYS = itertools.count()


@functools.lru_cache(maxsize=None)  # noqa: UP033 - as it was written before 3.9
def lookup(key: int) -> str:
    return str(key)


def step() -> None:
    lookup(next(KEYS))
