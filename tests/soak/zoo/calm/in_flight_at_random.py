# SPDX-License-Identifier: Apache-2.0
"""Any number of requests in flight at the end of a round, and nothing beneath them."""

from __future__ import annotations

import itertools
import random

CLEAR = True
MOST_ROUNDS = 15

RANDOM = random.Random(5)
LIVE: dict[int, object] = {}
IDS = itertools.count()


def step() -> None:
    for _ in range(10):
        LIVE[next(IDS)] = object()
    live = list(LIVE)
    for one in live[: max(0, len(live) - RANDOM.randrange(5, 60))]:
        del LIVE[one]
