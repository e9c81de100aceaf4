# SPDX-License-Identifier: Apache-2.0
"""A pool of blocks of which more and more have a hash: no more than there are blocks."""

from __future__ import annotations

import itertools


class Hash:
    pass


class Block:
    def __init__(self) -> None:
        self.hash: Hash | None = None


BLOCKS = [Block() for _ in range(1000)]
NEXT = itertools.count()


def step() -> None:
    BLOCKS[next(NEXT)].hash = Hash()
