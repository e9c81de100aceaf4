# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from collections import deque
from typing import Any

from vllm_soak.heap.census import Census

COUNT, EACH = 500, 20


class Block:
    def __init__(self) -> None:
        self.hash: Any = None


class Pool:
    def __init__(self) -> None:
        self.blocks = [Block() for _ in range(COUNT)]


class Hash:
    def __init__(self, below: Any = None) -> None:
        self.below = below


def bound_after(pool: Pool, fill: Any) -> Any:
    census = Census()
    census.take(baseline=True)
    for turn in range(3):
        for at in range(EACH):
            fill(pool, turn * EACH + at)
        rows = {row["path"]: row for row in census.take()["populations"]}
    (row,) = [row for path, row in rows.items() if path.startswith("pool.blocks[i].hash")]
    return row["bound"]


def first_hash(pool: Pool, at: int) -> None:
    pool.blocks[at].hash = Hash()


def chain(pool: Pool, at: int) -> None:
    pool.blocks[at % 3].hash = Hash(pool.blocks[at % 3].hash)


def test_what_each_entry_has_once_is_bounded_by_the_entries() -> None:
    pool = Pool()
    assert bound_after(pool, first_hash) == COUNT


def test_chains_below_entries_are_not_bounded() -> None:
    pool = Pool()
    assert bound_after(pool, chain) is None


def test_below_the_entries_of_a_bounded_container_its_bound_counts() -> None:
    pool = Pool()
    pool.blocks = deque(pool.blocks, maxlen=COUNT + 7)  # type: ignore[assignment]
    assert bound_after(pool, first_hash) == COUNT + 7


class Board:
    """Its attributes are blocks, and no container has all of them."""

    def __init__(self) -> None:
        for at in range(COUNT):
            setattr(self, f"block{at}", Block())


def test_one_attribute_of_each_of_many_objects_is_bounded_by_their_number() -> None:
    board, census = Board(), Census()
    census.take(baseline=True)
    for turn in range(3):
        for at in range(turn * EACH, (turn + 1) * EACH):
            getattr(board, f"block{at}").hash = Hash()
        rows = census.take()["populations"]
    (row,) = [row for row in rows if row["path"].endswith(".hash")]
    assert row["bound"] == COUNT
    assert "`hash`" in row["bound_reason"]


def test_where_these_objects_become_more_there_is_no_bound() -> None:
    board, census = Board(), Census()
    census.take(baseline=True)
    for turn in range(3):
        for at in range(EACH):
            block = Block()
            block.hash = Hash()
            setattr(board, f"new{turn * EACH + at}", block)
        rows = census.take()["populations"]
    assert not [row for row in rows if row["bound"] is not None]
