# SPDX-License-Identifier: Apache-2.0
"""The native walk against the one in Python, and against what it must never do."""

from __future__ import annotations

import builtins
import gc
import sys
import weakref
from collections import Counter, OrderedDict, defaultdict, deque
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vllm_soak.heap import native
from vllm_soak.heap.kinds import kind_of
from vllm_soak.heap.native import NativeWalk
from vllm_soak.heap.pace import Pace
from vllm_soak.heap.roots import Root, all_roots
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
    assert all(found[id(one)][0] == len(one) for name, one in huge.items() if name not in {"tuple", "set"})
    assert Counter(row[1] for row in rows(walk))[Node] == 60_000
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


def test_no_collection_runs_and_the_switch_is_left_as_it_was() -> None:
    graph = [[Node()] for _ in range(1000)]
    for enabled in (True, False):
        (gc.enable if enabled else gc.disable)()
        try:
            before = [one["collections"] for one in gc.get_stats()]
            walk = NativeWalk([start(graph)], pace=Pace())
            walk.run()
            after = [one["collections"] for one in gc.get_stats()]
            assert gc.isenabled() is enabled
            assert after[2] == before[2]
            walk.close()
        finally:
            gc.enable()


def test_every_object_that_the_collector_knows_is_reached() -> None:
    walk = NativeWalk(all_roots())
    walk.run()
    assert walk.rings
    seen = {walk.table.object(at)[0] for at in range(walk.objects)}
    known = [one for one in gc.get_objects() if type(one).__module__ != "vllm_soak.heap.native"]
    missed = [one for one in known if id(one) not in seen]
    share = 1 - len(missed) / len(known)
    del known, missed
    walk.close()
    assert share > 0.995


def test_a_frozen_object_that_nothing_leads_to_is_found(run_python: Callable[[str], str]) -> None:
    output = run_python("""
        import ctypes, gc
        from vllm_soak.heap.native import NATIVE, NativeWalk
        from vllm_soak.heap.pace import WHOLE, Pace
        from vllm_soak.heap.roots import all_roots

        class Lost:
            pass

        def hide():
            lost = Lost()
            lost.inner = [1, 2, 3]
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(lost))
            return id(lost)

        address = hide()
        gc.freeze()
        for pace in (WHOLE, Pace(max_pause_ms=5.0)):
            walk = NativeWalk(all_roots(), pace=pace)
            walk.run()
            found = [walk.table.object(at)[0] for at in range(walk.objects)]
            whole_ring = pace == WHOLE or walk.table.counts["frozen"] >= gc.get_freeze_count()
            print(address in found, walk.unrooted()["Lost"], whole_ring)
            walk.close()
    """)
    assert output.split() == ["True", "1", "True"] * 2


_ran: list[str] = []


def _trap(name: str) -> Callable[..., Any]:
    def ran(*_arguments: object, **_named: object) -> Any:
        _ran.append(name)
        raise RuntimeError(name)

    return ran


_NAMES = ("getattr", "getattribute", "eq", "hash", "len", "repr", "str", "sizeof", "bool", "iter", "contains", "get")


def test_no_special_method_is_called() -> None:
    namespace = {f"__{name}__": _trap(name) for name in _NAMES}
    hostile = [
        type(f"Hostile{base.__name__}", (base,), dict(namespace)) for base in (object, list, dict, set, int, str)
    ]
    graph = [cls.__new__(cls) for cls in hostile]
    _ran.clear()
    for pace in (Pace(), Pace(max_pause_ms=0.001)):
        walk = NativeWalk([start(graph)], hidden=fences(), registries=False, pace=pace)
        walk.run()
        assert {row[0] for row in rows(walk)} >= {id(one) for one in graph}
        walk.close()
    assert not _ran


def test_a_closed_walk_says_so() -> None:
    walk = walk_natively([1])
    walk.close()
    walk.close()
    with pytest.raises(RuntimeError, match="open walk"):
        walk.table.advance(0.0)
    with pytest.raises(IndexError):
        walk.table.object(0)


def test_a_whole_walk_has_no_time_limit() -> None:
    walk = NativeWalk([start([1])])
    with pytest.raises(RuntimeError, match="sliced=True"):
        walk.table.advance(5.0)
    walk.close()


def test_all_memory_is_given_back(run_python: Callable[[str], str]) -> None:
    output = run_python("""
        from vllm_soak.heap.native import NativeWalk, NativeSnapshot
        from vllm_soak.heap.roots import all_roots

        def mappings():
            return sum(1 for line in open("/proc/self/maps"))

        kept = [[at] for at in range(300_000)]
        def walk():
            found = NativeWalk(all_roots())
            found.run()
            size = found.table.nbytes
            NativeSnapshot(found)
            found.close()
            return size
        walk()
        before = mappings()
        sizes = [walk() for _ in range(5)]
        print(mappings() <= before + 2, min(sizes) > 5_000_000)
    """)
    assert output.split() == ["True", "True"]


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
