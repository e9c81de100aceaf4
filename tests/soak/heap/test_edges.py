# SPDX-License-Identifier: Apache-2.0
"""Cyclic garbage and what objects keep alive, told from the references between them."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vllm_soak.heap import native

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.skipif(native.NATIVE is None, reason="the native walk is not built on this machine")


def test_garbage_is_told_from_what_native_code_holds(run_python: Callable[[str], str]) -> None:
    output = run_python("""
        import ctypes, gc
        from vllm_soak.heap.native import NativeWalk
        from vllm_soak.heap.roots import all_roots

        def cyclic_garbage():
            walk = NativeWalk(all_roots(), edges=True)
            walk.run()
            found = walk.garbage()
            walk.close()
            return found

        class Knot:
            pass

        class Tail:
            pass

        class Held:
            pass

        gc.disable()
        gc.collect()

        def tie():
            one, two = Knot(), Knot()
            one.other, two.other = two, one
            one.tail = Tail()

        def hold():
            held = Held()
            held.other, held.own = Held(), held
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(held))

        for _ in range(100):
            tie()
        for _ in range(10):
            hold()
        found = cyclic_garbage()
        freed = gc.collect()
        print(found.get("Knot"), found.get("Tail"), found.get("Held"), freed >= 200, cyclic_garbage().get("Knot"))
    """)
    assert output.split() == ["200", "100", "None", "True", "None"]


def reachable_without(graph: Any, away: set[int], inside: set[int]) -> set[int]:
    """The reference: addresses that can be reached from a graph within certain objects, without some of them."""
    found, queue = set(), [graph]
    for one in queue:
        if id(one) in found or id(one) in away:
            continue
        found.add(id(one))
        queue += [below for below in gc.get_referents(one) if id(below) in inside]
    return found


@given(st.data())
@settings(deadline=None, max_examples=60)
def test_retained_is_what_cannot_be_reached_without_the_members(graphs: Any, data: st.DataObject) -> None:
    nodes = graphs.draw(data)
    walk = graphs.walk(nodes, edges=True)
    found = [row for row in graphs.rows(walk) if row[1] not in (type, str)]
    inside = {row[0] for row in found}
    for group in {row[4] for row in found}:
        away = {row[0] for row in found if row[4] == group}
        kept = reachable_without(nodes, away, inside)
        expected = sum(row[3] for row in graphs.rows(walk) if row[0] in inside - kept)
        texts = sum(row[3] for row in graphs.rows(walk) if row[1] is str)
        assert expected <= walk.retained(group) <= expected + texts
    walk.close()
