# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import sys
from collections import OrderedDict, defaultdict, deque
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest

from vllm_soak.heap import census as census_module
from vllm_soak.heap.census import Census

if TYPE_CHECKING:
    from collections.abc import Callable

REGISTRY: dict[int, int] = {}


class MyList(list):  # type: ignore[type-arg]
    pass


class Lists(defaultdict):  # type: ignore[type-arg]
    def __init__(self) -> None:
        super().__init__(list)


class Engine:
    def __init__(self) -> None:
        self.managers = [Manager(), Manager()]


class Manager:
    def __init__(self) -> None:
        self.ids: Any = []


def rows(census: Census, **arguments: bool) -> dict[str, dict[str, Any]]:
    return {row["path"]: row for row in census.take(**arguments)["populations"]}


@pytest.mark.parametrize(
    ("make", "grow"),
    [
        (list, lambda one, at: one.append(at)),
        (MyList, lambda one, at: one.append(at)),
        (dict, lambda one, at: one.__setitem__(at, at)),
        (set, lambda one, at: one.add(at)),
        (deque, lambda one, at: one.append(at)),
        (OrderedDict, lambda one, at: one.__setitem__(at, at)),
        (Lists, lambda one, at: one[at].append(at)),
        (bytearray, lambda one, at: one.append(at % 256)),
    ],
)
def test_each_kind_of_container_is_named_by_its_path(make: type, grow: Callable[[Any, int], None]) -> None:
    engine = Engine()
    engine.managers[1].ids = make()
    census = Census()
    assert rows(census, baseline=True) == {}
    for at in range(1000):
        grow(engine.managers[1].ids, at)
    row = rows(census)["engine.managers[1].ids"]
    assert row["template"] == "engine.managers[i].ids"
    assert row["type"] == make.__name__
    assert row["length"] == 1000
    assert row["shallow_bytes"] == sys.getsizeof(engine.managers[1].ids)
    assert row["steps"] == [
        {"label": "engine", "type": "Engine"},
        {"label": "managers[1]", "type": "Manager"},
        {"label": "ids", "type": make.__name__},
    ]


def test_a_module_attribute_is_a_root() -> None:
    census = Census()
    census.take(baseline=True)
    REGISTRY[len(REGISTRY)] = 1
    row = rows(census)[f"{__name__}.REGISTRY"]
    assert row["steps"][0] == {"label": __name__, "type": "module"}


def test_a_series_has_no_holes_and_is_sorted_by_growth() -> None:
    engine = Engine()
    census = Census()
    census.take(baseline=True)
    engine.managers[0].ids.extend(range(10))
    engine.managers[1].ids.extend(range(5))
    assert [row["path"] for row in census.take()["populations"]][:2] == [
        "engine.managers[0].ids",
        "engine.managers[1].ids",
    ]
    engine.managers[1].ids.extend(range(5))
    again = [(row["path"], row["length"]) for row in census.take()["populations"]]
    assert again.index(("engine.managers[1].ids", 10)) < again.index(("engine.managers[0].ids", 10))


def test_a_container_that_is_replaced_by_a_longer_one_is_followed() -> None:
    engine = Engine()
    census = Census()
    census.take(baseline=True)
    for length in (100, 200, 300):
        engine.managers[0].ids = [0, *([1] * (length - 1))]
        assert rows(census)["engine.managers[0].ids"]["length"] == length


def test_a_row_says_what_it_gained_and_what_new_entries_look_like() -> None:
    engine = Engine()
    census = Census()
    census.take(baseline=True)
    engine.managers[0].ids.extend(["the user's own words"] * 7)
    row = rows(census)["engine.managers[0].ids"]
    assert (row["length"], row["grown"], row["samples"]) == (7, 7, ["str[20]"] * 3)
    listed = rows(census)["engine.managers[0].ids"]
    assert (listed["length"], listed["grown"], listed["samples"]) == (7, 0, ["str[20]"] * 3)
    engine.managers[0].ids.append("the user's own words")
    shown = rows(census, contents=True)["engine.managers[0].ids"]
    assert shown["grown"] == 1
    assert shown["samples"] == [repr("the user's own words")] * 3


def test_a_length_is_that_of_the_walk_however_late_the_container_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = Engine()
    census = Census()
    census.take(baseline=True)
    taken: list[int] = []

    def grow_late(*arguments: Any) -> Any:
        engine.managers[0].ids.extend(range(1000))  # between the walk and the naming
        return located(*arguments)

    located = census_module.Locator
    monkeypatch.setattr(census_module, "Locator", grow_late)
    for _ in range(3):
        engine.managers[0].ids.extend(range(10))
        taken.append(rows(census)["engine.managers[0].ids"]["length"])
    assert taken == [10, 1020, 2030]


def test_a_baseline_forgets_everything() -> None:
    engine = Engine()
    census = Census()
    census.take(baseline=True)
    engine.managers[0].ids.append(1)
    assert rows(census)
    assert rows(census, baseline=True) == {}
    assert "engine.managers[0].ids" not in rows(census)


def test_churn_is_not_growth() -> None:
    """Containers of constant length, made anew between censuses, take each other's addresses."""
    engine = Engine()
    engine.managers = [Manager() for _ in range(200)]
    census = Census()
    grown: dict[str, list[int]] = {}
    for turn in range(6):
        for at in range(200):
            engine.managers[at].ids = list(range(10 + at % 17))
        if turn == 0:
            census.take(baseline=True)
            continue
        for path, row in rows(census).items():
            grown.setdefault(path, []).append(row["length"])
    series = [lengths for path, lengths in grown.items() if path.startswith("engine.managers")]
    assert not [lengths for lengths in series if any(a < b for a, b in pairwise(lengths))]


def test_without_native_code_the_answer_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vllm_soak.heap.native.NATIVE", None)
    monkeypatch.setattr("vllm_soak.heap.idset.NATIVE", None)
    engine = Engine()
    census = Census()
    assert census.take(baseline=True)["walker"] == "python"
    engine.managers[0].ids.append(1)
    assert rows(census)["engine.managers[0].ids"]["length"] == 1
