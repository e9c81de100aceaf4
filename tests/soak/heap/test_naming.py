# SPDX-License-Identifier: Apache-2.0
"""The names of containers in the rows of a census, and which of them have a row."""

from __future__ import annotations

from typing import Any

import pytest

from vllm_soak.heap.census import Census
from vllm_soak.store.record import Census as Walked
from vllm_soak.verdict.track import is_cut


class Engine:
    def __init__(self) -> None:
        self.managers = [Manager(), Manager()]
        self.by_name = {"main": Manager(), "not an identifier": Manager(), 7: Manager()}


class Manager:
    def __init__(self) -> None:
        self.ids: Any = []


def rows(census: Census, **arguments: bool) -> dict[str, dict[str, Any]]:
    return {row["path"]: row for row in census.take(**arguments)["populations"]}


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
