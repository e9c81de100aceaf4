# SPDX-License-Identifier: Apache-2.0
"""What a census must not do to the program that it looks at, nor tell of the harness's own."""

from __future__ import annotations

import gc
import sys
import threading
import weakref
from typing import TYPE_CHECKING, Any

import pytest

from vllm_soak.heap.census import Census

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class Engine:
    def __init__(self) -> None:
        self.managers = [Manager(), Manager()]


class Manager:
    def __init__(self) -> None:
        self.ids: Any = []


def rows(census: Census, **arguments: bool) -> dict[str, dict[str, Any]]:
    return {row["path"]: row for row in census.take(**arguments)["populations"]}


def test_no_reference_is_kept_and_no_full_collection_triggered() -> None:
    engine = Engine()
    watch = weakref.ref(engine.managers[0])
    census = Census()
    census.take(baseline=True)
    engine.managers[0].ids.extend([object(), Manager()])
    gc.collect()
    before = sys.getrefcount(engine.managers[0])
    full = gc.get_stats()[-1]["collections"]
    found = census.take()
    after = sys.getrefcount(engine.managers[0])  # outside the assertion, which holds what it compares
    # Young ones come of any allocation, other threads' too; that a walk starts none at all: test_walk.py.
    assert gc.get_stats()[-1]["collections"] == full
    assert after == before
    assert any(row["path"] == "engine.managers[0].ids" for row in found["populations"])
    engine.managers.pop(0)
    assert watch() is None


def test_the_censuses_own_state_is_never_reported() -> None:
    census = Census()
    census.take(baseline=True)
    for _ in range(3):
        found = census.take()["populations"]
        assert not [row for row in found if "census" in row["path"] or "vllm_soak" in row["path"]]


def test_what_the_harness_holds_is_hidden_but_the_engine_below_it_is_not() -> None:
    harness: Any = type("Driver", (), {"__module__": "vllm_soak.engines.driver"})()
    harness.latencies, harness.nested, harness.engine = [], {"inner": []}, Engine()
    census = Census()
    census.take(baseline=True)
    harness.latencies.append(1)
    harness.nested["inner"].append(1)
    harness.engine.managers[0].ids.append(1)
    found = {path for path in rows(census) if path.startswith("harness")}
    assert found == {"harness.engine.managers[0].ids"}


def test_growth_of_a_patch_itself_is_reported() -> None:
    patch: Any = type("Patch", (), {"__module__": "vllm_soak.patches.vllm.v1"})()
    patch.seen = []
    census = Census()
    census.take(baseline=True)
    patch.seen.append(1)
    assert "patch.seen" in rows(census)


def test_user_code_never_runs(trapped: Any) -> None:
    census = Census()
    census.take(baseline=True)
    trapped.grow()
    found = rows(census)
    assert not trapped.calls()
    assert {"trapped.a_list", "trapped.a_dict", "trapped.a_set"} <= set(found)
    assert found["trapped.a_list"]["length"] == 3


def build(failures: list[SystemError]) -> None:
    try:
        tuple([at] for at in range(300))
    except SystemError as failure:
        failures.append(failure)


def test_other_threads_build_their_tuples_undisturbed() -> None:
    """A census that held a tuple under construction would make these raise SystemError."""
    stop = threading.Event()
    failures: list[SystemError] = []

    def work() -> None:
        while not stop.is_set():
            build(failures)

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    census = Census()
    for at in range(5):
        census.take(baseline=at == 0)
    stop.set()
    for thread in threads:
        thread.join()
    assert not failures


def grow(container: Any) -> None:
    for at in range(3):
        if "dict" in type.__dict__["__name__"].__get__(type(container)):
            dict.__setitem__(container, at, at)
        elif "set" in type.__dict__["__name__"].__get__(type(container)):
            set.add(container, at)
        else:
            list.append(container, at)


_calls: list[str] = []


def _trap(name: str) -> Callable[..., Any]:
    def ran(*_arguments: object, **_named: object) -> Any:
        _calls.append(name)
        raise RuntimeError(f"user code ran: {name}")

    return ran


_TRAPS = {
    name: _trap(name)
    for name in ("__len__", "__iter__", "__getitem__", "__eq__", "__reversed__", "__contains__", "__sizeof__")
} | {name: _trap(name) for name in ("__getattr__", "__getattribute__", "__bool__", "__repr__", "__str__")}


class Meta(type):
    __getattribute__ = _trap("meta __getattribute__")
    __eq__ = _trap("meta __eq__")
    __hash__ = _trap("meta __hash__")
    __instancecheck__ = _trap("meta __instancecheck__")
    __subclasscheck__ = _trap("meta __subclasscheck__")


def _hostile(base: type) -> Any:
    namespace = {**_TRAPS, "__hash__": _trap("__hash__"), "__class__": property(_trap("__class__"))}
    return type.__new__(Meta, f"Hostile{base.__name__}", (base,), namespace)


@pytest.fixture
def trapped() -> Iterator[Any]:
    _calls.clear()
    yield Trapped()
    _calls.clear()


class Trapped:
    """Holds objects whose every special method raises, and says which were called."""

    def __init__(self) -> None:
        make = {base: _hostile(base) for base in (list, dict, set, object)}
        self.a_list = list.__new__(make[list])
        self.a_dict = dict.__new__(make[dict])
        self.a_set = set.__new__(make[set])
        self.keys = {1: object.__new__(make[object])}
        self.lazy_property = 1

    def grow(self) -> None:
        for container in (self.a_list, self.a_dict, self.a_set):
            grow(container)

    @staticmethod
    def calls() -> list[str]:
        return _calls
