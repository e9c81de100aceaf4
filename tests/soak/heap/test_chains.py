# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import Any

import pytest

from vllm_soak.heap import native
from vllm_soak.heap.census import Census
from vllm_soak.heap.chains import Chains

pytestmark = pytest.mark.skipif(native.NATIVE is None, reason="the native walk is not built on this machine")

LONG, EACH = 200, 20


class Link:
    def __init__(self, below: Any) -> None:
        self.below = below


class Keeper:
    def __init__(self) -> None:
        self.head: Any = None

    def add(self, count: int) -> None:
        for _ in range(count):
            self.head = Link(self.head)


def keepers() -> tuple[Keeper, Keeper, Keeper]:
    found = Keeper(), Keeper(), Keeper()
    for one in found:
        one.add(LONG)
    return found


NAMES = ("first", "second", "third")


class Board:
    def __init__(self) -> None:
        self.first, self.second, self.third = keepers()


@pytest.mark.parametrize("which", [0, 1, 2])
def test_the_chain_that_grows_is_named_from_the_second_census_on(which: int) -> None:
    board = Board()
    census = Census()
    census.take(baseline=True)
    found = []
    for _ in range(3):
        getattr(board, NAMES[which]).add(EACH)
        rows = census.take()["populations"]
        found.append({row["path"]: row["length"] for row in rows if row["path"].startswith("board.")})
    name = f"board.{NAMES[which]}.head"
    assert [one.get(name) for one in found[1:]] == [3 * LONG + 2 * EACH, 3 * LONG + 3 * EACH]
    assert [len(one) for one in found] == [1, 1, 1]


def test_members_are_counted_by_what_their_chain_hangs_on() -> None:
    kept = keepers()
    kept[1].add(EACH)
    walk = native.NativeWalk([*roots_of(kept)])
    walk.run()
    group = next(at for at in range(walk.table.groups) if walk.table.group(at)[2] is Link)
    chains = Chains(walk, group)
    assert sorted(chains.holders.values()) == [LONG, LONG, LONG + EACH]
    holder, _ = chains.holders.most_common(1)[0]
    first = chains.first(holder)
    assert first is not None
    assert walk.table.object(first)[0] == id(kept[1].head)
    assert chains.first(0) is None
    walk.close()


def roots_of(kept: tuple[Keeper, ...]) -> Any:
    from vllm_soak.heap.roots import Root

    return [Root("kept", kept, "a/b", "", late=False)]
