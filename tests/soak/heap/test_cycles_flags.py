# SPDX-License-Identifier: Apache-2.0
"""The collector's flags and its list of garbage, which a program may use as well."""

from __future__ import annotations

import gc
import os
from typing import Any

import pytest

from vllm_soak.heap.cycles import Collector

pytestmark = pytest.mark.usefixtures("collector_at_rest")


class Request:
    def __init__(self) -> None:
        self.me = self


class Flags:
    """Sets the collector's flags when it is collected."""

    def __init__(self) -> None:
        self.me = self

    def __del__(self) -> None:
        gc.set_debug(gc.get_debug() | gc.DEBUG_UNCOLLECTABLE)


def found_after(make: Any) -> dict[str, int]:
    make()
    return {row["ring"]: row["count"] for row in Collector().collect().rings}


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
