# SPDX-License-Identifier: Apache-2.0
"""The native walk against the one in Python, and against what it must never do."""

from __future__ import annotations

import builtins
import gc
import sys
from collections import OrderedDict, defaultdict, deque
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vllm_soak.heap import native
from vllm_soak.heap.kinds import kind_of
from vllm_soak.heap.native import NativeWalk
from vllm_soak.heap.pace import Pace
from vllm_soak.heap.roots import Root
from vllm_soak.heap.walk import Walk

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = pytest.mark.skipif(native.NATIVE is None, reason="the native walk is not built on this machine")

VALUES = (int, float, bool, type(None))
PLAIN = (list, dict, tuple, set, frozenset, deque, OrderedDict, defaultdict)


class Node:
    pass


class Slots:
    __slots__ = ("inner",)


class Mine(dict):  # type: ignore[type-arg]
    pass


def suspended(inner: list[Any]) -> Iterator[list[Any]]:
    yield inner


def make_node() -> tuple[Any, Callable[[Any], None]]:
    node = Node()
    node.inner = []  # type: ignore[attr-defined]
    return node, node.inner.append  # type: ignore[attr-defined]


def make_slots() -> tuple[Any, Callable[[Any], None]]:
    node = Slots()
    node.inner = []
    return node, node.inner.append


def make_tuple() -> tuple[Any, Callable[[Any], None]]:
    inner: list[Any] = []
    return (1, inner, "text", b"bytes"), inner.append


def make_generator() -> tuple[Any, Callable[[Any], None]]:
    inner: list[Any] = []
    generator = suspended(inner)
    next(generator)
    return generator, inner.append


def make_set() -> tuple[Any, Callable[[Any], None]]:
    found: set[Any] = set()
    return found, lambda one: found.add(one if isinstance(one, (Node, Slots)) else id(one))


def make_mapping(cls: Callable[[], Any]) -> tuple[Any, Callable[[Any], None]]:
    found = cls()

    def put(one: Any) -> None:
        found[(len(found),) if len(found) % 2 else str(len(found))] = one

    return found, put


def make_list(cls: Callable[[], Any]) -> tuple[Any, Callable[[Any], None]]:
    found = cls()
    return found, found.append


MAKERS: list[Callable[[], tuple[Any, Callable[[Any], None]]]] = [
    make_node,
    make_slots,
    make_tuple,
    make_generator,
    make_set,
    lambda: make_list(list),
    lambda: make_list(deque),
    lambda: make_mapping(dict),
    lambda: make_mapping(OrderedDict),
    lambda: make_mapping(Mine),
    lambda: make_mapping(lambda: defaultdict(list)),
    lambda: (bytearray(b"abc"), lambda _: None),
    lambda: ("x" * 600, lambda _: None),
    lambda: (b"some bytes", lambda _: None),
    lambda: (7.5, lambda _: None),
]

graphs = st.tuples(
    st.lists(st.sampled_from(range(len(MAKERS))), min_size=1, max_size=40),
    st.lists(st.tuples(st.integers(0, 39), st.integers(0, 39)), max_size=120),
)


def build(kinds: list[int], edges: list[tuple[int, int]]) -> list[Any]:
    made = [MAKERS[kind]() for kind in kinds]
    for above, below in edges:
        made[above % len(made)][1](made[below % len(made)][0])
    return [one[0] for one in made]


def start(value: object) -> Root:
    return Root(label="start", value=value, place="main/test", owner="tests", late=False)


def fences() -> list[Any]:
    """What leads out of a test's own graph."""
    return [
        Node,
        Slots,
        Mine,
        deque,
        defaultdict,
        suspended,
        suspended.__code__,
        globals(),
        vars(builtins),
        sys.modules,
    ]


def walk_natively(graph: Any, **arguments: Any) -> NativeWalk:
    found = NativeWalk([start(graph)], hidden=fences(), registries=False, **arguments)
    found.run()
    return found


def rows(walk: NativeWalk) -> list[tuple[int, type, int, int, int]]:
    found = [walk.table.object(at) for at in range(walk.objects)]
    return [row for row in found if row[4] > 0]  # group 0 is what was hidden


def followed(walk: NativeWalk) -> list[tuple[int, int]]:
    addresses = [walk.table.object(at)[0] for at in range(walk.objects)]
    return [(row[0], addresses[row[2]] if row[2] >= 0 else 0) for row in rows(walk) if is_followed(row[1])]


def is_followed(cls: type) -> bool:
    kind = kind_of(cls)
    return kind.base is not None or not kind.leaf


def lengths(walk: Any) -> dict[int, tuple[int, int]]:
    return {walk.address(at): (walk.length(at), walk.owner(at)) for at in range(walk.containers)}


@given(graphs)
@settings(deadline=None, max_examples=150)
def test_both_walks_find_the_same_in_the_same_order(graph: tuple[list[int], list[tuple[int, int]]]) -> None:
    nodes = build(*graph)
    reference = Walk(hidden=fences())
    reference.run([start(nodes)])
    found = walk_natively(nodes)
    owners = [0 if at == 0xFFFFFFFF else reference.order[at] for at in reference.parents]
    assert followed(found) == list(zip(reference.order, owners, strict=True))
    assert lengths(found) == lengths(reference)
    assert [found.code(at) for at in range(found.containers)] == list(reference.codes)
    assert [found.chain(at) for at in range(found.containers)] == [
        reference.chain(at) for at in range(reference.containers)
    ]


@given(graphs)
@settings(deadline=None, max_examples=100)
def test_a_walk_in_slices_finds_the_same(graph: tuple[list[int], list[tuple[int, int]]]) -> None:
    nodes = build(*graph)
    whole = walk_natively(nodes)
    sliced = walk_natively(nodes, pace=Pace(max_pause_ms=0.0001))
    assert {row[0] for row in rows(sliced)} == {row[0] for row in rows(whole)}
    assert lengths(sliced) == lengths(whole)


@given(graphs)
@settings(deadline=None, max_examples=100)
def test_sizes_are_what_the_interpreter_says(graph: tuple[list[int], list[tuple[int, int]]]) -> None:
    nodes = build(*graph)
    found = {row[0]: row[3] for row in rows(walk_natively(nodes))}
    for node in nodes:
        if id(node) in found and type(node) is not Node:
            assert found[id(node)] == sys.getsizeof(node)


def expected_groups(found: list[tuple[int, type, int, int, int]], first: int) -> list[tuple[type, ...]]:
    """Each object's group as the path of types from the root, by the rules in words of groups.c."""
    paths: list[tuple[type, ...]] = []
    for _, cls, parent, _, _ in found:
        above = paths[parent - first] if parent >= 0 else ()
        paths.append(continued(above, cls) if above else (cls,))
    return paths


def continued(above: tuple[type, ...], cls: type) -> tuple[type, ...]:
    if above[-1] is cls or len(above) > 60:
        return above
    if cls not in PLAIN:
        for back in range(2, min(len(above), 9) + 1):
            if above[-back] is cls:
                return above[: len(above) - back + 1]
    return (*above, cls)


@given(graphs)
@settings(deadline=None, max_examples=150)
def test_objects_are_grouped_by_the_types_on_the_way(graph: tuple[list[int], list[tuple[int, int]]]) -> None:
    nodes = build(*graph)
    walk = walk_natively(nodes)
    found = rows(walk)
    first = walk.objects - len(found)
    expected = expected_groups(found, first)
    assert len(set(zip(expected, (row[4] for row in found), strict=True))) == len(set(expected))
    assert len({row[4] for row in found}) == len(set(expected))


@given(graphs)
@settings(deadline=None, max_examples=50)
def test_no_reference_is_left_changed(graph: tuple[list[int], list[tuple[int, int]]]) -> None:
    nodes = [node for node in build(*graph) if type(node) not in (float, str, bytes)]  # constants of the program
    gc.collect()
    gc.disable()  # what an earlier example left behind would go in between
    try:
        check_references(nodes)
    finally:
        gc.enable()


def check_references(nodes: list[Any]) -> None:
    before = [sys.getrefcount(node) for node in nodes]
    types = [sys.getrefcount(cls) for cls in (Node, Slots, Mine)]
    for pace in (Pace(), Pace(max_pause_ms=0.0001)):
        walk_natively(nodes, pace=pace).close()
        unfinished = NativeWalk([start(nodes)], hidden=fences(), pace=Pace(max_pause_ms=0.0001))
        unfinished.table.advance(0.0001)
        unfinished.close()
        del unfinished
        assert [sys.getrefcount(node) for node in nodes] == before
    assert [sys.getrefcount(cls) for cls in (Node, Slots, Mine)] == types


def reachable_without(graph: Any, away: set[int], inside: set[int]) -> set[int]:
    """The reference: addresses that can be reached from a graph within certain objects, without some of them."""
    found, queue = set(), [graph]
    for one in queue:
        if id(one) in found or id(one) in away:
            continue
        found.add(id(one))
        queue += [below for below in gc.get_referents(one) if id(below) in inside]
    return found


@given(graphs)
@settings(deadline=None, max_examples=60)
def test_retained_is_what_cannot_be_reached_without_the_members(
    graph: tuple[list[int], list[tuple[int, int]]],
) -> None:
    nodes = build(*graph)
    walk = walk_natively(nodes, edges=True)
    found = [row for row in rows(walk) if row[1] not in (type, str)]
    inside = {row[0] for row in found}
    for group in {row[4] for row in found}:
        away = {row[0] for row in found if row[4] == group}
        kept = reachable_without(nodes, away, inside)
        expected = sum(row[3] for row in rows(walk) if row[0] in inside - kept)
        texts = sum(row[3] for row in rows(walk) if row[1] is str)
        assert expected <= walk.retained(group) <= expected + texts
    walk.close()
