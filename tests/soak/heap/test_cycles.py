# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import functools
import gc
import math
import os
import weakref
from typing import TYPE_CHECKING, Any

import pytest

from vllm_soak.heap.cycles import Collector, rings
from vllm_soak.heap.native import NATIVE

if TYPE_CHECKING:
    from collections.abc import Iterator


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


class Flags:
    """Sets the collector's flags when it is collected."""

    def __init__(self) -> None:
        self.me = self

    def __del__(self) -> None:
        gc.set_debug(gc.get_debug() | gc.DEBUG_UNCOLLECTABLE)


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


@pytest.fixture(autouse=True)
def quiet(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr("vllm_soak.heap.cycles.SLOW", math.inf)  # however slow or busy the machine is
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def found() -> dict[str, int]:
    return {row["ring"]: row["count"] for row in Collector().collect().rings}


def found_after(make: Any) -> dict[str, int]:
    make()
    return found()


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


def test_what_a_user_has_set_aside_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gc, "garbage", gc.garbage)
    kept = object()
    gc.garbage.append(kept)
    Request()
    Collector().collect()
    assert gc.garbage.pop() is kept


def test_a_users_own_search_is_left_alone() -> None:
    gc.set_debug(gc.DEBUG_SAVEALL)
    try:
        Request()
        assert Collector().collect().rings == []
        assert any(type(one) is Request for one in gc.garbage)
    finally:
        gc.set_debug(0)
        gc.garbage.clear()


def test_garbage_is_freed_also_when_the_collectors_list_has_another_name(monkeypatch: pytest.MonkeyPatch) -> None:
    held = len(gc.garbage)
    real = gc.garbage
    monkeypatch.setattr(gc, "garbage", [])
    assert found_after(Request) == found_after(Request) != {}
    assert len(real) == held


def test_a_list_that_is_not_the_collectors_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    held, real = len(gc.garbage), gc.garbage
    monkeypatch.setattr("vllm_soak.heap.cycles._GARBAGE", [])
    collector = Collector()
    try:
        for _ in range(3):
            Request()
            assert collector.collect().objects > 0
        assert sum(type(one) is Request for one in real) == 1
    finally:
        del real[held:]


def test_a_finalizer_may_set_the_collectors_flags() -> None:
    Flags()
    try:
        Collector().collect()
        assert gc.get_debug() == gc.DEBUG_UNCOLLECTABLE
    finally:
        gc.set_debug(0)


def test_a_child_that_is_forked_meanwhile_frees_its_cycles() -> None:
    codes: list[int] = []

    def fork(phase: str, _info: dict[str, int]) -> None:
        if not codes:
            codes.append(code_of_child(phase))

    gc.callbacks.append(fork)
    try:
        Collector().collect()
    finally:
        gc.callbacks.remove(fork)
    assert codes == [0]


def code_of_child(phase: str) -> int:
    child = os.fork()
    if child == 0:
        os._exit(gc.get_debug() if phase == "start" else 100)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


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
