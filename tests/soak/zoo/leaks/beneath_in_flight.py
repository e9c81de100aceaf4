# SPDX-License-Identifier: Apache-2.0
"""Requests in flight vary by more than the leak adds in a round: no rule may acquit it, and none can be sure."""

from __future__ import annotations

import itertools
import random

OUTCOME = "inconclusive"
MOST_ROUNDS = 15

RANDOM = random.Random(3)
LIVE: dict[int, object] = {}
IDS = itertools.count(1)


def step() -> None:
    for _ in range(10):
        LIVE[next(IDS)] = object()
    done = [one for one in LIVE if one % 10]
    for one in done[: max(0, len(done) - RANDOM.randrange(5, 40))]:
        del LIVE[one]
