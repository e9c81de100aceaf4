# SPDX-License-Identifier: Apache-2.0
"""A hand-written LRU cache that evicts beyond 42 entries."""

from __future__ import annotations

import itertools
from collections import OrderedDict

CACHE: OrderedDict[int, object] = OrderedDict()
KEYS = itertools.count()


def step() -> None:
    CACHE[next(KEYS)] = object()
    if len(CACHE) > 42:
        CACHE.popitem(last=False)
