# SPDX-License-Identifier: Apache-2.0
"""Slices of a native walk that end in the middle of a container, while the graph changes."""

from __future__ import annotations

import builtins
import sys
import weakref
from collections import Counter, OrderedDict
from typing import Any

import pytest

from vllm_soak.heap import native
from vllm_soak.heap.native import NativeWalk
from vllm_soak.heap.pace import Pace
from vllm_soak.heap.roots import Root

pytestmark = pytest.mark.skipif(native.NATIVE is None, reason="the native walk is not built on this machine")


class Node:
    pass


def start(value: object) -> Root:
    return Root(label="start", value=value, place="main/test", owner="tests", late=False)


def fences() -> list[Any]:
    """What leads out of a test's own graph."""
    return [Node, globals(), vars(builtins), sys.modules]


def types_of(walk: NativeWalk) -> Counter[type]:
    return Counter(walk.table.object(at)[1] for at in range(walk.objects))


def lengths(walk: NativeWalk) -> dict[int, int]:
    return {walk.address(at): walk.length(at) for at in range(walk.containers)}


def test_a_huge_container_is_left_in_its_middle() -> None:
    """Each slice ends within the container: it takes many slices to get through it."""
    huge = {
        "list": [Node() for _ in range(60_000)],
        "dict": {(at,): [at] for at in range(40_000)},
        "tuple": tuple([at] for at in range(40_000)),
        "set": {(at,) for at in range(40_000)},
        "mapping": OrderedDict((at, [at]) for at in range(40_000)),
    }
    walk = NativeWalk([start(huge)], hidden=fences(), registries=False, pace=Pace(max_pause_ms=0.2))
    slices = 0
    while not walk.table.advance(0.2):
        slices += 1
    assert slices > 20
    found = lengths(walk)
    assert all(found[id(one)] == len(one) for name, one in huge.items() if name not in {"tuple", "set"})
    assert types_of(walk)[Node] == 60_000
    walk.close()


def test_what_changes_between_slices_is_survived() -> None:
    numbers = [[at] for at in range(50_000)]
    table = {(at,): [at] for at in range(50_000)}
    walk = NativeWalk([start([numbers, table])], hidden=fences(), registries=False, pace=Pace(max_pause_ms=0.02))
    turn = 0
    while not walk.table.advance(0.02):
        turn += 1
        del numbers[::7]
        for key in list(table)[:100]:
            del table[key]
        numbers.extend([at] for at in range(50 if turn < 300 else 0))
    assert walk.table.counts["changed"] > 0
    walk.close()


def test_a_dead_objects_memory_is_not_touched() -> None:
    """What is queued is held until it was looked at, and not longer."""
    nodes = [Node() for _ in range(20_000)]
    for at, node in enumerate(nodes):
        node.inner = [at]  # type: ignore[attr-defined]
    watch = weakref.ref(node)
    del node
    walk = NativeWalk([start(nodes)], hidden=fences(), registries=False, pace=Pace(max_pause_ms=0.05))
    walk.table.advance(0.05)
    nodes.clear()
    while not walk.table.advance(0.05):
        pass
    assert watch() is None
    walk.close()


def test_a_slice_ends_between_two_entries() -> None:
    """What was pushed is held when the slice ends, or it may be gone at the next one: a value's key too."""
    table = {Node(): Node() for _ in range(20_000)}
    keys, values = list(table), list(table.values())
    walk = NativeWalk([start([table, [[]]])], hidden=fences(), registries=False, pace=Pace(max_pause_ms=1e-6))
    for _ in range(10):
        assert not walk.table.advance(1e-6)
        held = [sum(sys.getrefcount(nodes[at]) > 3 for at in range(len(nodes))) for nodes in (keys, values)]
        assert held[0] == held[1]
    assert held[0] > 0
    walk.close()
