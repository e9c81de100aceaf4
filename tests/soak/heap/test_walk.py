# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import gc
import sys
import weakref
from collections import OrderedDict, deque
from typing import TYPE_CHECKING, Any

import pytest

from vllm_soak.heap import walk as walk_module
from vllm_soak.heap.idset import PythonIdSet
from vllm_soak.heap.roots import Root
from vllm_soak.heap.walk import STEP, Walk, in_steps

if TYPE_CHECKING:
    from collections.abc import Callable


def root(value: object, *, late: bool = False) -> Root:
    return Root(label="start", value=value, place="main/test", owner="tests", late=late)


class Node:
    def __init__(self, **inner: Any) -> None:
        self.__dict__.update(inner)


def lengths(found: Walk) -> dict[int, int]:
    return {found.address(at): found.lengths[at] for at in range(len(found.positions))}


def test_every_container_is_counted_once_whatever_leads_to_it() -> None:
    shared = [1, 2, 3]
    node = Node(first=shared, second={"key": shared}, third=(deque([1]), bytearray(b"abcd"), {7, 8}))
    found = Walk()
    found.run([root(node)])
    counted = lengths(found)
    assert counted[id(shared)] == 3
    assert counted[id(node.third[0])] == 1
    assert counted[id(node.third[1])] == 4
    assert counted[id(node.third[2])] == 2


def test_a_chain_leads_from_the_root_down() -> None:
    inner: list[int] = []
    node = Node(middle={"key": inner})
    found = Walk()
    found.run([root(node)])
    at = next(at for at in range(len(found.positions)) if found.address(at) == id(inner))
    chain = found.chain(at)
    assert chain[0] == id(node)
    assert chain[-2:] == [id(node.middle), id(inner)]
    assert found.owner(at) == id(node.middle)


def test_plain_attributes_win_over_closures() -> None:
    target: list[int] = []

    def closure() -> list[int]:
        return target

    deep = Node(a=Node(b=Node(c=Node(d=Node(target=target)))))
    found = Walk()
    found.run([root(closure), root(deep)])
    at = next(at for at in range(len(found.positions)) if found.address(at) == id(target))
    assert found.chain(at)[0] == id(deep)


def test_hidden_objects_are_not_entered() -> None:
    secret = Node(inner=[1])
    found = Walk(hidden=[secret])
    found.run([root(Node(way=secret))])
    assert id(secret.inner) not in lengths(found)


@pytest.mark.parametrize("size", [STEP - 1, STEP, STEP + 1, 3 * STEP + 7])
@pytest.mark.parametrize("make", [list, set, deque, dict.fromkeys, OrderedDict.fromkeys, frozenset])
def test_steps_yield_what_the_collector_sees(make: Callable[[Any], Any], size: int) -> None:
    container = make([Node() for _ in range(size)])
    steps = {id(one) for step in in_steps(container) for one in step if type(one) is Node}
    assert steps == {id(one) for one in gc.get_referents(container) if type(one) is Node}
    assert len(steps) == size


@pytest.mark.parametrize("make", [list, set, deque, dict.fromkeys, OrderedDict.fromkeys])
def test_a_step_is_short(make: Callable[[Any], Any]) -> None:
    assert max(map(len, in_steps(make(range(5 * STEP))))) <= STEP


def test_a_container_that_changes_while_read_is_still_read_whole() -> None:
    container = dict.fromkeys(range(3 * STEP))
    steps = in_steps(container)
    seen = {one for one in next(steps) if isinstance(one, int)}
    container[-1] = None
    for step in steps:
        seen.update(one for one in step if isinstance(one, int))
    assert seen == {*range(3 * STEP), -1}


def test_no_reference_is_kept() -> None:
    node = Node(inner=[Node()])
    watch = weakref.ref(node)
    before = sys.getrefcount(node)
    found = Walk()
    found.run([root(node)])
    assert sys.getrefcount(node) == before
    del node
    assert watch() is None
    assert found.objects > 0


def test_the_time_limit_stops_the_walk_and_says_so() -> None:
    found = Walk(seconds=-1.0)
    found.run([root(Node(inner=[1]))])
    assert "time limit" in found.partial


def test_no_collection_is_triggered(run_python: Callable[[str], str]) -> None:
    """In a process of its own: a test runner's threads may set off a collection at any time."""
    output = run_python("""
        import gc
        from vllm_soak.heap.roots import all_roots
        from vllm_soak.heap.walk import Walk

        class Node:
            def __init__(self, at):
                self.x = [at]

        held = [Node(at) for at in range(20_000)]
        roots = all_roots()
        gc.collect()
        before = [one["collections"] for one in gc.get_stats()]
        Walk().run(roots)
        print([one["collections"] for one in gc.get_stats()] == before)
    """)
    assert output.split() == ["True"]


def test_frozen_objects_are_found(run_python: Callable[[str], str]) -> None:
    output = run_python("""
        import gc
        from vllm_soak.heap.roots import all_roots
        from vllm_soak.heap.walk import Walk

        class Engine:
            def __init__(self):
                self.ids = [1, 2, 3]

        def main(engine):
            gc.freeze()
            visible = any(one is engine.ids for one in gc.get_objects())
            walk = Walk()
            walk.run(all_roots())
            found = any(walk.address(at) == id(engine.ids) for at in range(len(walk.positions)))
            print(visible, found)

        main(Engine())
    """)
    assert output.split() == ["False", "True"]


def test_the_pure_set_finds_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    tree = [{"x": [at, (at, {at})]} for at in range(500)]
    native = Walk()
    native.run([root(tree)])
    monkeypatch.setattr(walk_module, "new_set", PythonIdSet)
    pure = Walk()
    pure.run([root(tree)])
    assert list(pure.order) == list(native.order)
    assert list(pure.parents) == list(native.parents)
    assert list(pure.lengths) == list(native.lengths)
