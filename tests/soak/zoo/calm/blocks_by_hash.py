# SPDX-License-Identifier: Apache-2.0
"""A pool of blocks, each found by the hash of what it holds last: one entry for each block, and no number beside it."""

from __future__ import annotations

import itertools


class Block:
    def __init__(self, at: int) -> None:
        self.at = at
        self.hash: str | None = None


class Pool:
    def __init__(self, blocks: int) -> None:
        self.free = [Block(at) for at in range(blocks)]
        self.by_hash: dict[str, Block] = {}

    def take(self, new: str) -> None:
        block = self.free.pop(0)
        if block.hash is not None:
            del self.by_hash[block.hash]
        block.hash = new
        self.by_hash[new] = block
        self.free.append(block)


POOL = Pool(900)
NUMBERS = itertools.count()
NEEDS = "populations"


def step() -> None:
    for _ in range(8):
        POOL.take(f"hash {next(NUMBERS)}")
