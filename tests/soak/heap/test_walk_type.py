# SPDX-License-Identifier: Apache-2.0
"""What a native walk must never do to the program, and what it refuses."""

from __future__ import annotations

import builtins
import ctypes
import gc
import sys
from typing import TYPE_CHECKING, Any

import pytest

from vllm_soak.heap import native
from vllm_soak.heap.native import NativeWalk
from vllm_soak.heap.pace import Pace
from vllm_soak.heap.roots import Root

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.skipif(native.NATIVE is None, reason="the native walk is not built on this machine")


class Node:
    pass


def start(value: object) -> Root:
    return Root(label="start", value=value, place="main/test", owner="tests", late=False)


def fences() -> list[Any]:
    """What leads out of a test's own graph."""
    return [Node, globals(), vars(builtins), sys.modules]


def test_no_collection_runs_and_the_switch_is_left_as_it_was() -> None:
    graph = [[Node()] for _ in range(1000)]
    gc.collect()  # so that no full one is due
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
        assert {walk.table.object(at)[0] for at in range(walk.objects)} >= {id(one) for one in graph}
        walk.close()
    assert not _ran


def test_a_closed_walk_says_so() -> None:
    walk = NativeWalk([start([1])], hidden=fences(), registries=False)
    walk.run()
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


@pytest.mark.parametrize("pause", [0.0, 5.0])
def test_a_dead_object_that_a_traversal_shows_is_left_alone(pause: float) -> None:
    """As of a free list: on CPython 3.12 asyncio's is shown, and a reference taken and given back frees it again."""
    node, fence = Node(), fences()
    held, address = [node], id(node)
    count = ctypes.c_ssize_t.from_address(address)
    before = count.value
    walk = NativeWalk([start(held)], [*fence, fence], pace=Pace(max_pause_ms=pause), registries=False)
    count.value = 0
    walk.run()
    after, count.value = count.value, before
    assert after == 0
    assert address not in [walk.table.object(at)[0] for at in range(walk.objects)]
    assert held == [node]
    walk.close()
