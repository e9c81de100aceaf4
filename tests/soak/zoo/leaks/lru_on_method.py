# SPDX-License-Identifier: Apache-2.0
"""An unbounded lru_cache on a method, with `self` in every key."""

from __future__ import annotations

import functools
import itertools

PATH = "lru_on_method.Service.lookup"


class Service:
    @functools.cache  # noqa: B019 - the leak
    def lookup(self, key: int) -> str:
        return str(key)


SERVICE = Service()
KEYS = itertools.count()


def step() -> None:
    SERVICE.lookup(next(KEYS))
