# SPDX-License-Identifier: Apache-2.0
"""A fixed list of slots, in each of which a chain grows."""

from __future__ import annotations

import itertools
from typing import Any

PATH = ("ring_of_chains.SLOTS", "ring_of_chains.SLOTS[i]")
NEEDS = "populations"

SLOTS: list[Any] = [None] * 8
TURN = itertools.cycle(range(8))


class Entry:
    __slots__ = ("next",)

    def __init__(self, after: Any) -> None:
        self.next = after


def step() -> None:
    at = next(TURN)
    SLOTS[at] = Entry(SLOTS[at])
