# SPDX-License-Identifier: Apache-2.0
"""The native walk against the one in Python, and against what it must never do."""

from __future__ import annotations

import gc
import sys
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vllm_soak.heap import native
from vllm_soak.heap.kinds import kind_of
from vllm_soak.heap.native import NativeWalk
from vllm_soak.heap.pace import Pace
from vllm_soak.heap.walk import Walk

pytestmark = pytest.mark.skipif(native.NATIVE is None, reason="the native walk is not built on this machine")


def followed(walk: NativeWalk, rows: list[tuple[int, type, int, int, int]]) -> list[tuple[int, int]]:
    addresses = [walk.table.object(at)[0] for at in range(walk.objects)]
    return [(row[0], addresses[row[2]] if row[2] >= 0 else 0) for row in rows if is_followed(row[1])]


def is_followed(cls: type) -> bool:
    kind = kind_of(cls)
    return kind.base is not None or not kind.leaf


def lengths(walk: Any) -> dict[int, tuple[int, int]]:
    return {walk.address(at): (walk.length(at), walk.owner(at)) for at in range(walk.containers)}


@given(st.data())
@settings(deadline=None, max_examples=150)
def test_both_walks_find_the_same_in_the_same_order(graphs: Any, data: st.DataObject) -> None:
    nodes = graphs.draw(data)
    reference = Walk(hidden=graphs.fences())
    reference.run([graphs.start(nodes)])
    found = graphs.walk(nodes)
    owners = [0 if at == 0xFFFFFFFF else reference.order[at] for at in reference.parents]
    assert followed(found, graphs.rows(found)) == list(zip(reference.order, owners, strict=True))
    assert lengths(found) == lengths(reference)
    assert [found.code(at) for at in range(found.containers)] == list(reference.codes)
    assert [found.chain(at) for at in range(found.containers)] == [
        reference.chain(at) for at in range(reference.containers)
    ]


@given(st.data())
@settings(deadline=None, max_examples=100)
def test_a_walk_in_slices_finds_the_same(graphs: Any, data: st.DataObject) -> None:
    nodes = graphs.draw(data)
    whole = graphs.walk(nodes)
    sliced = graphs.walk(nodes, pace=Pace(max_pause_ms=0.0001))
    assert {row[0] for row in graphs.rows(sliced)} == {row[0] for row in graphs.rows(whole)}
    assert lengths(sliced) == lengths(whole)


@given(st.data())
@settings(deadline=None, max_examples=100)
def test_sizes_are_what_the_interpreter_says(graphs: Any, data: st.DataObject) -> None:
    nodes = graphs.draw(data)
    found = {row[0]: row[3] for row in graphs.rows(graphs.walk(nodes))}
    for node in nodes:
        if id(node) in found and type(node) is not graphs.node:
            assert found[id(node)] == sys.getsizeof(node)


@given(st.data())
@settings(deadline=None, max_examples=50)
def test_no_reference_is_left_changed(graphs: Any, data: st.DataObject) -> None:
    nodes = [node for node in graphs.draw(data) if type(node) not in (float, str, bytes)]  # constants of the program
    gc.collect()
    gc.disable()  # what an earlier example left behind would go in between
    try:
        check_references(graphs, nodes)
    finally:
        gc.enable()


def check_references(graphs: Any, nodes: list[Any]) -> None:
    before = [sys.getrefcount(node) for node in nodes]
    types = [sys.getrefcount(cls) for cls in graphs.classes]
    for pace in (Pace(), Pace(max_pause_ms=0.0001)):
        graphs.walk(nodes, pace=pace).close()
        unfinished = NativeWalk([graphs.start(nodes)], hidden=graphs.fences(), pace=Pace(max_pause_ms=0.0001))
        unfinished.table.advance(0.0001)
        unfinished.close()
        del unfinished
        assert [sys.getrefcount(node) for node in nodes] == before
    assert [sys.getrefcount(cls) for cls in graphs.classes] == types
