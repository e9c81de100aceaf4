# SPDX-License-Identifier: Apache-2.0
"""What containers tell of the members of a group, against the same looked up member by member."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vllm_soak.heap import holders, native
from vllm_soak.heap.holders import Holders
from vllm_soak.heap.native import NativeSnapshot, NativeWalk
from vllm_soak.heap.roots import Root

pytestmark = pytest.mark.skipif(native.NATIVE is None, reason="the native walk is not built on this machine")


class Box:
    def __init__(self) -> None:
        self.entries: list[tuple[int, ...]] = []


class Node:
    def __init__(self, below: object) -> None:
        self.below = below


def walked(boxes: list[Any]) -> NativeWalk:
    root = Root("boxes", boxes, "main/test", "tests", late=False)
    walk = NativeWalk([root], hidden=[Box, Node, globals()], registries=False)
    walk.run()
    return walk


def members(walk: NativeWalk, group: int) -> list[int]:
    return [at for at in range(walk.objects) if walk.table.object(at)[4] == group]


def sampled(walk: NativeWalk, group: int, most: int) -> list[int]:
    all_of_them = members(walk, group)
    return all_of_them[:: max(1, len(all_of_them) // most)][:most] if len(all_of_them) > most else all_of_them


def holder(walk: NativeWalk, member: int) -> int:
    parent = walk.table.object(member)[2]
    return int(walk.table.object(parent)[0]) if parent >= 0 else 0


@given(
    st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=1, max_size=12),
    st.integers(1, 9),
    st.integers(0, 4),
    st.randoms(use_true_random=False),
)
@settings(deadline=None)
def test_members_are_told_apart_as_one_by_one(boxes: list[tuple[int, int]], most: int, named: int, chance: Any) -> None:
    kept = [Box() for _ in boxes]
    for box, (at_first, _) in zip(kept, boxes, strict=True):
        box.entries = [(at,) for at in range(at_first)]
    first = walked(kept)
    before = NativeSnapshot(first)
    for box, (_, added) in zip(kept, boxes, strict=True):
        box.entries.extend((at,) for at in range(added))
    walk = walked(kept)
    now = NativeSnapshot(walk)
    explained = {id(box.entries): chance.randrange(-1, 5) for box in kept[:named]}
    found = Holders(walk, now, before, explained)
    for group in range(walk.table.groups):
        some = sampled(walk, group, most)
        fresh = [at for at in some if found.gained(walk.table.object(at)[0]) > 0 or found.gained(holder(walk, at)) > 0]
        assert walk.table.members(group, most) == some
        assert walk.table.fresh(group, most, most) == (fresh or some)
        held = Counter(holder(walk, at) for at in some)
        assert dict(walk.table.held(group, most)) == {at: held[at] for at in held if at in explained}


def test_what_containers_gained_is_scaled_to_all_members(monkeypatch: pytest.MonkeyPatch) -> None:
    box = Box()
    before = NativeSnapshot(walked([box]))
    box.entries = [(at,) for at in range(1000)]
    walk = walked([box])
    group = walk.table.object(next(at for at in range(walk.objects) if holder(walk, at) == id(box.entries)))[4]
    monkeypatch.setattr(holders, "MOST", 90)
    for grown, expected in ((1000, 1000), (10, 10), (2, 0)):
        found = Holders(walk, NativeSnapshot(walk), before, {id(box.entries): grown})
        assert found.added(group, 1000) == expected


def test_a_few_are_spread_over_all() -> None:
    box = Box()
    box.entries = [(at,) for at in range(100)]
    walk = walked([box])
    group = walk.table.object(walk.objects - 1)[4]
    found = [at - members(walk, group)[0] for at in walk.table.fresh(group, 20_000, 5)]
    assert found == [0, 20, 40, 60, 80]


def test_the_top_of_a_chain_is_the_member_nearest_to_the_root() -> None:
    head: Any = None
    for _ in range(50):
        head = Node(head)
    walk = walked([[head], [Node(None)]])
    nodes = [at for at in range(walk.objects) if walk.table.object(at)[1] is Node]
    last = max(nodes, key=lambda at: len(walk.table.way(at)))
    group = walk.table.object(last)[4]
    assert walk.table.object(walk.table.top(last, group, 20_000))[0] == id(head)
    assert walk.table.top(last, group, 1) == last


def test_what_lies_below_a_group_is_summed() -> None:
    boxes = [Box(), Box()]
    for box in boxes:
        box.entries = [(1,), (2,)]
    walk = walked(boxes)
    groups = {walk.table.object(at)[4] for at in range(walk.objects)}
    parents = {group: walk.table.group(group)[1] for group in groups}
    top = walk.table.object(next(at for at in range(walk.objects) if walk.table.object(at)[0] == id(boxes)))[4]
    rows = [(group, 10) for group in groups]
    below = {group for group in groups if parents[group] == top}
    while any(parents[group] in below and group not in below for group in groups):
        below |= {group for group in groups if parents[group] in below}
    assert len(below) >= 3
    assert walk.below(top, rows) == 10 * len(below)
    with pytest.raises(TypeError, match="pairs"):
        walk.table.below(top, [1])
