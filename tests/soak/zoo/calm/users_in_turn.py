# SPDX-License-Identifier: Apache-2.0
"""What was last said to each of many users, whom a run meets in turn: one entry for each, and no number beside it."""

from __future__ import annotations

import itertools

MOST_ROUNDS = 15
CLEAR = True
NEEDS = "populations"


class User:
    def __init__(self, at: int) -> None:
        self.name = f"user {at}"


USERS = [User(at) for at in range(90)]
LAST: dict[str, User] = {}
TURN = itertools.count()


def step() -> None:
    one = USERS[next(TURN) % len(USERS)]
    LAST[one.name] = one
