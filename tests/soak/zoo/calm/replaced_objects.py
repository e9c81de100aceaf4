# SPDX-License-Identifier: Apache-2.0
"""A hundred objects that are replaced one by one."""

from __future__ import annotations

import itertools


class Session:
    def __init__(self, number: int) -> None:
        self.number = number
        self.history = [number, number]


SESSIONS = [Session(0) for _ in range(100)]
TURN = itertools.count()


def step() -> None:
    at = next(TURN) % 100
    SESSIONS[at] = Session(at)
