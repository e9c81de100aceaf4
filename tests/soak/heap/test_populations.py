# SPDX-License-Identifier: Apache-2.0
"""Leaks that grow no container by identity, each named at its path; and what is not named beside a container."""

from __future__ import annotations

import contextvars
import functools
import sys
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest

from vllm_soak.heap import native
from vllm_soak.heap.census import Census

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = pytest.mark.skipif(native.NATIVE is None, reason="the native walk is not built on this machine")

ROUNDS, EACH = 3, 50


class Node:
    def __init__(self, below: object) -> None:
        self.below = below
        self.payload = [1, 2, 3]


class Request:
    def __init__(self, at: int) -> None:
        self.name = f"request {at}"
        self.tokens = [at]


class Part:
    def __init__(self) -> None:
        self.extra: Any = None


class Engine:
    def __init__(self) -> None:
        self.head: Any = None
        self.buffer = b""
        self.text = ""
        self.requests: dict[int, Request] = {}
        self.parts = [Part() for _ in range(EACH * ROUNDS)]
        self.error: Any = None
        self.callback: Any = lambda: None


def stream(tokens: list[int]) -> Iterator[int]:
    yield from tokens


def wrap(callback: Callable[[], object]) -> Callable[[], object]:
    return lambda: callback


def chain(engine: Engine, _turn: int) -> None:
    engine.head = Node(engine.head)


def chain_of_tuples(engine: Engine, turn: int) -> None:
    engine.head = ([turn], engine.head)


def suspended_generators(engine: Engine, turn: int) -> None:
    generator = stream([turn, turn])
    next(generator)
    engine.head = (generator, engine.head)


def exceptions(engine: Engine, _turn: int) -> None:
    try:
        int("not a number")
    except ValueError as error:
        error.__cause__ = engine.error
        engine.error = error


def closures(engine: Engine, _turn: int) -> None:
    engine.callback = wrap(engine.callback)


def small_containers(engine: Engine, turn: int) -> None:
    engine.parts[turn].extra = [turn]


def contexts(engine: Engine, turn: int) -> None:
    context = contextvars.copy_context()
    context.run(contextvars.ContextVar(f"variable-{turn}").set, turn)
    engine.head = (context, engine.head)


def partials(engine: Engine, _turn: int) -> None:
    engine.callback = functools.partial(print, engine.callback)


def series(act: Callable[[Engine, int], None]) -> dict[str, list[dict[str, Any]]]:
    engine, census, found = Engine(), Census(), {}
    census.take(baseline=True)
    for turn in range(ROUNDS):
        for at in range(EACH):
            act(engine, turn * EACH + at)
        for row in census.take()["populations"]:
            found.setdefault(row["path"], []).append(row)
    return {path: rows for path, rows in found.items() if path.startswith("engine")}


@pytest.mark.parametrize(
    ("act", "path", "shown"),
    [
        (chain, "engine.head", "Node"),
        (chain_of_tuples, "engine.head", "tuple"),
        (suspended_generators, "engine.head", "tuple"),
        (exceptions, "engine.error", "ValueError"),
        (closures, "engine.callback", "function"),
        (small_containers, "engine.parts[i].extra", "list"),
        (contexts, "engine.head", "tuple"),
        (partials, "engine.callback", "partial"),
    ],
)
def test_a_population_is_named_where_it_begins(act: Any, path: str, shown: str) -> None:
    rows = series(act)[path]
    assert [row["type"] for row in rows] == [shown] * ROUNDS
    lengths = [row["length"] for row in rows]
    assert [after - before for before, after in pairwise(lengths)] == [EACH] * (ROUNDS - 1)
    assert rows[-1]["shallow_bytes"] >= 16 * lengths[-1]
    assert rows[-1]["bound"] == (len(Engine().parts) if act is small_containers else None)
    assert len(rows[-1]["fingerprint"]) == 12


def test_what_comes_with_each_member_is_counted() -> None:
    row = series(chain)["engine.head"][-1]
    payload = sys.getsizeof([1, 2, 3])
    assert payload <= row["exclusive_per_entry"] <= payload + 400


def test_a_growing_buffer_is_a_population_of_bytes() -> None:
    def lengthen(engine: Engine, _turn: int) -> None:
        engine.buffer += b"x" * 100

    rows = series(lengthen)["engine.buffer"]
    lengths = [row["length"] for row in rows]
    assert lengths[-1] - lengths[-2] == EACH * 100
    assert rows[-1]["type"] == "bytes"


def test_the_container_is_named_and_not_what_is_in_it() -> None:
    def serve(engine: Engine, turn: int) -> None:
        engine.requests[turn] = Request(turn)

    assert set(series(serve)) == {"engine.requests"}


def test_many_small_containers_are_named_together() -> None:
    engine, census = Engine(), Census()
    for part in engine.parts:
        part.extra = [Node(None)]
    census.take(baseline=True)
    for part in engine.parts:
        part.extra.append(Node(None))
    assert "engine.parts[i].extra[i]" in {row["path"] for row in census.take()["populations"]}


def test_what_comes_and_goes_is_not_named() -> None:
    def serve(engine: Engine, turn: int) -> None:
        engine.head = Node(None)
        engine.requests = {turn: Request(turn)}

    for rows in series(serve).values():  # what was empty at the baseline
        assert len({row["length"] for row in rows}) == 1


def test_a_held_frame_says_where_it_stands() -> None:
    census, held = Census(), []
    census.take(baseline=True)
    for _ in range(EACH):
        generator = stream([1, 2])
        next(generator)
        held.append(generator)
    shown = {row["path"]: row for row in census.take()["populations"]}["held"]["entry_types"]
    assert [one.partition(":")[0] for one in shown] == ["generator stream (test_populations.py"]


def test_what_no_root_reaches_is_named_by_its_type(run_python: Callable[[str], str]) -> None:
    output = run_python("""
        import ctypes
        from vllm_soak.heap.census import Census

        class Lost:
            pass

        def lose(count):
            for _ in range(count):
                ctypes.pythonapi.Py_IncRef(ctypes.py_object(Lost()))

        census = Census()
        census.take(baseline=True)
        for _ in range(3):
            lose(40)
            rows = {row["path"]: row for row in census.take()["populations"]}
        row = rows["<no root: Lost>"]
        print(row["type"], row["length"], row["steps"])
    """)
    assert output.split()[:2] == ["Lost", "120"]
