# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import gc
import sys
import threading
import weakref
from collections import OrderedDict, defaultdict, deque
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest

from vllm_soak.heap import census as census_module
from vllm_soak.heap.census import Census
from vllm_soak.store.record import Census as Walked
from vllm_soak.verdict.track import is_cut

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

REGISTRY: dict[int, int] = {}


class MyList(list):  # type: ignore[type-arg]
    pass


class Lists(defaultdict):  # type: ignore[type-arg]
    def __init__(self) -> None:
        super().__init__(list)


class Engine:
    def __init__(self) -> None:
        self.managers = [Manager(), Manager()]
        self.by_name = {"main": Manager(), "not an identifier": Manager(), 7: Manager()}


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


def test_keys_are_shown_only_when_they_read_like_names() -> None:
    engine = Engine()
    census = Census()
    census.take(baseline=True)
    for key in engine.by_name:
        engine.by_name[key].ids.append(1)
    found = rows(census)
    assert {path for path in found if path.startswith("engine.")} == {
        'engine.by_name["main"].ids',
        "engine.by_name[*].ids",
        "engine.by_name[*].ids #2",
    }
    assert {row["template"] for row in found.values() if row["path"].startswith("engine.")} == {"engine.by_name[*].ids"}


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


def test_the_rows_are_limited_and_the_rest_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vllm_soak.heap.naming.ROWS", 5)
    engine = Engine()
    engine.managers = [Manager() for _ in range(20)]
    census = Census()
    census.take(baseline=True)
    for at in range(20):
        engine.managers[at].ids.extend(range(1000 + at))
    answer = census.take()
    assert [row["length"] for row in answer["populations"]] == [1019, 1018, 1017, 1016, 1015]
    assert "containers that grew less than the 5 listed" in answer["partial"]


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


def test_without_native_code_the_answer_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vllm_soak.heap.native.NATIVE", None)
    monkeypatch.setattr("vllm_soak.heap.idset.NATIVE", None)
    engine = Engine()
    census = Census()
    assert census.take(baseline=True)["walker"] == "python"
    engine.managers[0].ids.append(1)
    assert rows(census)["engine.managers[0].ids"]["length"] == 1


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


def test_what_a_census_left_out_is_said_as_the_verdict_reads_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vllm_soak.heap.naming.ROWS", 3)
    held: list[list[int]] = [[] for _ in range(10)]
    census = Census()
    answer = census.take(baseline=True)
    for at, one in enumerate(held):
        one.extend(range(at + 1))
    said = [answer["partial"], census.take()["partial"]]
    assert [is_cut(Walked("arm", "process", 0, 0, 0, 0, 0.0, "native", one)) for one in said] == [False, True]


def test_what_grows_again_is_named_before_what_grew_more_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A small leak beside more containers than there are rows, each of which is used once and replaced."""
    monkeypatch.setattr("vllm_soak.heap.naming.ROWS", 5)
    leak: list[int] = []
    used, waiting = fresh_lists(), fresh_lists()
    census = Census()
    census.take(baseline=True)
    found = []
    for _ in range(4):
        leak.append(1)
        for one in waiting:
            one.extend(range(50))
        used, waiting = waiting, fresh_lists()
        answer = census.take()
        found.append({row["path"]: row["length"] for row in answer["populations"]}.get("leak"))
        assert len(answer["populations"]) <= 5
        assert "were not named" in answer["partial"]
    assert len(used) == 30
    assert found == [None, 2, 3, 4]


def fresh_lists() -> list[list[int]]:
    return [[] for _ in range(30)]
