# SPDX-License-Identifier: Apache-2.0
"""A pool of buffers that grows to its bound, at a steady pace."""

from __future__ import annotations

import itertools

POOL: list[bytearray] = []
REQUESTS = itertools.count()


def step() -> None:
    if next(REQUESTS) % 2 == 0 and len(POOL) < 25:
        POOL.append(bytearray(1000))
