# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import functools
import gc
import weakref
from typing import TYPE_CHECKING, Any

import pytest

from vllm_soak.heap.cycles import Collector, rings
from vllm_soak.heap.native import NATIVE

if TYPE_CHECKING:
    from collections.abc import Iterator


pytestmark = pytest.mark.usefixtures("collector_at_rest")


class Request:
    def __init__(self) -> None:
        self.block_hasher = functools.partial(hash_blocks, self)
        self.tail = Tail()


class Tail:
    pass


class Slotted:
    __slots__ = ("other",)


class Finalized:
    """Says how often its finalizer ran."""

    ran: list[str]

    def __init__(self, ran: list[str]) -> None:
        self.ran = ran
        self.me = self

    def __del__(self) -> None:
        self.ran.append("ran")


class Hostile:
    """Refuses every question."""

    def __init__(self) -> None:
        object.__setattr__(self, "me", self)

    def __getattribute__(self, name: str) -> Any:
        raise RuntimeError(name)

    def __eq__(self, _other: object) -> bool:
        raise RuntimeError("compared")

    def __hash__(self) -> int:
        raise RuntimeError("hashed")


def hash_blocks(request: Request) -> Request:
    return request


def tie() -> None:
    one, two = Slotted(), Slotted()
    one.other, two.other = two, one  # type: ignore[attr-defined]


def fail() -> None:
    try:
        int("not a number")
    except ValueError as error:
        kept = error  # the frame holds the exception, which holds the frame
        del error
        assert kept


class Streamed:
    def __init__(self) -> None:
        self.stream = self.run()
        next(self.stream)

    def run(self) -> Iterator[int]:
        yield 1


def found() -> dict[str, int]:
    return {row["ring"]: row["count"] for row in Collector().collect().rings}


def test_a_ring_is_told_by_types_and_attributes() -> None:
    for _ in range(20):
        Request()
    assert found() == {"Request.block_hasher -> partial.args[i] -> Request": 20}


@pytest.mark.parametrize(
    ("make", "ring"),
    [
        (tie, "Slotted.other -> Slotted.other -> Slotted"),
        (Hostile, "Hostile.me -> Hostile"),
        (fail, "ValueError"),
    ],
)
def test_rings_of_each_kind(make: Any, ring: str) -> None:
    for _ in range(5):
        make()
    told = found()
    assert any(one.startswith(ring) for one in told), told


def test_all_is_freed_and_nothing_is_kept() -> None:
    requests = [weakref.ref(Request()) for _ in range(20)]
    held = len(gc.garbage)
    assert Collector().collect().objects >= 20
    assert not any(one() for one in requests)
    assert len(gc.garbage) == held
    assert not gc.get_debug()
    assert not any(type(one) is Request for one in gc.get_objects())


def test_a_finalizer_runs_once() -> None:
    ran: list[str] = []
    Finalized(ran)
    Collector().collect()
    gc.collect()
    assert ran == ["ran"]


def test_where_a_collection_is_slow_it_is_not_made_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vllm_soak.heap.cycles.SLOW", -1.0)
    Request()
    assert Collector().collect().rings == []
    assert not any(type(one) is Request for one in gc.get_objects())


@pytest.mark.skipif(NATIVE is None, reason="needs the native walk")
def test_rings_that_a_finalizer_cuts_are_told_by_their_types_the_next_time() -> None:
    collector = Collector()
    told = []
    for _ in range(2):
        for _ in range(3_000):
            Streamed()
        told.append(collector.collect().rings)
    assert told[0] == []
    assert "Streamed" in told[1][0]["ring"]
    assert "generator" in told[1][0]["ring"]
    assert told[1][0]["count"] == 3_000


def test_a_walk_in_vain_is_not_made_again(monkeypatch: pytest.MonkeyPatch) -> None:
    walks: list[int] = []
    monkeypatch.setattr("vllm_soak.heap.cycles.types_of_garbage", lambda: walks.append(1) or [])
    collector = Collector()
    for _ in range(4):
        for _ in range(3_000):
            Streamed()
        collector.collect()
    assert walks == [1]


def test_without_rings_there_is_nothing_to_tell() -> None:
    assert rings([]) == []
    assert rings([Tail(), [], {}]) == []


def test_the_search_is_bounded() -> None:
    for _ in range(30_000):
        tie()
    assert found() == {"Slotted.other -> Slotted.other -> Slotted": 60_000}
