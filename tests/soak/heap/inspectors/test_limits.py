# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import pytest

from vllm_soak.heap.inspectors.limits import named_limit

Way = Callable[[object], list[object]]


class Cache:
    def __init__(self, **named: Any) -> None:
        self.entries: dict[int, int] = {}
        self.__dict__.update(named)


class Sized(OrderedDict[int, int]):
    MAX_SIZE = 40


class Slotted:
    __slots__ = ("_capacity", "entries")

    def __init__(self) -> None:
        self._capacity, self.entries = 30, []  # type: ignore[var-annotated]


class Computed:
    """A property is the owner's code, and is not run."""

    def __init__(self) -> None:
        self.entries: list[int] = []

    @property
    def maxsize(self) -> int:
        raise AssertionError("ran")


@pytest.mark.parametrize("name", ["maxsize", "_max_size", "capacity", "max_entries", "_limit", "MAX_ITEMS"])
def test_a_number_of_the_owner_that_reads_like_a_limit(name: str, way_to: Way) -> None:
    cache = Cache(**{name: 100})
    found = named_limit(cache.entries, way_to(cache), 60)
    assert found == (100, f"Cache.{name}")


def test_of_the_container_itself_of_a_slot_and_of_a_module() -> None:
    assert named_limit(Sized(), [], 10) == (40, "Sized.MAX_SIZE")
    slotted = Slotted()
    assert named_limit(slotted.entries, [slotted], 10) == (30, "Slotted._capacity")
    assert named_limit([], [{"__name__": "app", "CACHE_SIZE": 50}], 10) == (50, "app.CACHE_SIZE")


def memoised(maxsize: int | None, other: int) -> Any:
    known: dict[int, int] = {}

    def look_up(key: int) -> int | None:
        return known.get(key, other) if maxsize is None or len(known) < maxsize else None

    return look_up


@pytest.mark.parametrize(("maxsize", "limit"), [(100, (100, "<maxsize>")), (5, None), (None, None)])
def test_of_a_function_that_has_captured_the_container(maxsize: int | None, limit: Any) -> None:
    function = memoised(maxsize, 70)
    captured = function.__closure__[function.__code__.co_freevars.index("known")]
    assert named_limit(captured.cell_contents, [function, function.__closure__, captured], 60) == limit
    assert named_limit(captured.cell_contents, [function], 60) == limit
    assert named_limit({}, [function], 60) is None


def test_a_variable_that_is_not_bound_yet_limits_nothing() -> None:
    known: list[int] = []
    function = lambda: (known, maxsize)  # noqa: E731 - a closure over what is never bound
    assert named_limit(known, [function, function.__closure__, function.__closure__[0]], 1) is None
    if known:
        maxsize = 1


@pytest.mark.parametrize(
    "named",
    [
        {"max_model_len": 2048},  # of something else
        {"maxsize": 59},  # passed
        {"capacity": 4 << 30},  # bytes
        {"maxsize": True},
        {"maxsize": "100"},
        {"maxsize": None},
    ],
)
def test_what_is_no_limit_of_entries(named: dict[str, Any]) -> None:
    cache = Cache(**named)
    assert named_limit(cache.entries, [cache], 60) is None


def test_only_of_what_holds_it_and_nobodys_code_runs() -> None:
    inner, computed = Cache(), Computed()
    assert named_limit(inner.entries, [Cache(maxsize=100), inner], 60) is None
    assert named_limit(computed.entries, [computed], 10) is None
    assert named_limit([], [{"maxsize": 100}], 10) is None  # a user's data


def test_the_smallest_that_was_not_passed_counts() -> None:
    cache = Cache(maxsize=50, limit=500, capacity=200)
    assert named_limit(cache.entries, [cache], 60) == (200, "Cache.capacity")
