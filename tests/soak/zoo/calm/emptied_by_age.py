# SPDX-License-Identifier: Apache-2.0
"""A cache whose entries are dropped when they are half an hour old, in a run of seconds."""

from __future__ import annotations

import itertools
import time


class Sessions:
    def __init__(self, ttl: float) -> None:
        self.ttl = ttl
        self.entries: dict[int, float] = {}

    def add(self, key: int) -> None:
        now = time.monotonic()
        self.entries[key] = now
        for old in [one for one, since in self.entries.items() if now - since > self.ttl]:
            del self.entries[old]


SESSIONS = Sessions(1800.0)
KEYS = itertools.count()


def step() -> None:
    SESSIONS.add(next(KEYS))
