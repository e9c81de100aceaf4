# SPDX-License-Identifier: Apache-2.0
"""Programs in processes of their own, a collector at rest, and graphs of objects at random."""

from __future__ import annotations

import builtins
import gc
import math
import subprocess
import sys
import textwrap
from collections import OrderedDict, defaultdict, deque
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import strategies as st

import vllm_soak
from vllm_soak.heap.native import NativeWalk
from vllm_soak.heap.roots import Root

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

LIMIT_SECONDS = 600  # of a hang; a program takes a second or two on a quiet machine


@pytest.fixture
def run_python() -> Callable[[str], str]:
    """Runs a program in a process of its own, with this package on its path; its output."""
    package = Path(vllm_soak.__file__).parents[1]

    def run(source: str) -> str:
        command = [sys.executable, "-W", "error", "-c", textwrap.dedent(source)]
        environment = {"PYTHONPATH": str(package)}
        done = subprocess.run(
            command, check=False, capture_output=True, text=True, timeout=LIMIT_SECONDS, env=environment
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


@pytest.fixture
def collector_at_rest(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No collection but those that a test makes; each of them is looked into."""
    monkeypatch.setattr("vllm_soak.heap.cycles.SLOW", math.inf)  # however slow or busy the machine is
    gc.collect()
    gc.disable()
    yield
    gc.enable()


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

# Kinds of objects, by their number above, and which of them is put into which.
NUMBERS = st.tuples(
    st.lists(st.sampled_from(range(len(MAKERS))), min_size=1, max_size=40),
    st.lists(st.tuples(st.integers(0, 39), st.integers(0, 39)), max_size=120),
)


class Graphs:
    """Graphs at random, and native walks of them alone."""

    node = Node
    classes = (Node, Slots, Mine)

    @staticmethod
    def draw(data: st.DataObject) -> list[Any]:
        kinds, edges = data.draw(NUMBERS)
        made = [MAKERS[kind]() for kind in kinds]
        for above, below in edges:
            made[above % len(made)][1](made[below % len(made)][0])
        return [one[0] for one in made]

    @staticmethod
    def start(value: object) -> Root:
        return Root(label="start", value=value, place="main/test", owner="tests", late=False)

    @staticmethod
    def fences() -> list[Any]:
        """What leads out of a test's own graph."""
        code = [suspended, suspended.__code__]
        return [Node, Slots, Mine, deque, defaultdict, *code, globals(), vars(builtins), sys.modules]

    def walk(self, graph: Any, **arguments: Any) -> NativeWalk:
        found = NativeWalk([self.start(graph)], hidden=self.fences(), registries=False, **arguments)
        found.run()
        return found

    @staticmethod
    def rows(walk: NativeWalk) -> list[tuple[int, type, int, int, int]]:
        found = [walk.table.object(at) for at in range(walk.objects)]
        return [row for row in found if row[4] > 0]  # group 0 is what was hidden


@pytest.fixture(scope="session")
def graphs() -> Graphs:
    return Graphs()
