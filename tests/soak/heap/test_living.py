# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import weakref
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import pytest

from vllm_soak.heap import native
from vllm_soak.heap.census import Census

pytestmark = pytest.mark.skipif(native.NATIVE is None, reason="the native walk is not built on this machine")

COUNT, EACH, ROUNDS = 300, 20, 3


class Visit:
    pass


class Hashed:
    """Counts how often it is asked for its hash."""

    asked = 0

    def __hash__(self) -> int:
        type(self).asked += 1
        return id(self)

    def __eq__(self, other: object) -> bool:
        return self is other


class Service:
    def __init__(self) -> None:
        self.known = [Visit() for _ in range(COUNT)]
        self.by_object: dict[Any, int] = {}
        self.in_order: OrderedDict[Any, int] = OrderedDict()
        self.by_name: dict[str, Any] = {}
        self.listed: list[Any] = []
        self.members: set[Any] = set()
        self.weak: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()
        self.passing = [Visit() for _ in range(EACH)]


def bounds(fill: Callable[[Service, int], None], path: str, what: str = "bound") -> list[Any]:
    """The bound, or what may limit it, of a container in each census that it grew in."""
    service, census = Service(), Census()
    census.take(baseline=True)
    found = []
    for turn in range(ROUNDS):
        for at in range(EACH):
            fill(service, turn * EACH + at)
        rows = {row["template"]: row for row in census.take()["populations"]}
        found.append(rows[path][what])
    return found


def keyed_before(service: Service, at: int) -> None:
    service.by_object[service.known[at]] = at


def member_before(service: Service, at: int) -> None:
    service.members.add(service.known[at])


def weak_before(service: Service, at: int) -> None:
    service.weak[service.known[at]] = at


@pytest.mark.parametrize(
    ("fill", "path"),
    [
        (keyed_before, "service.by_object"),
        (member_before, "service.members"),
        (weak_before, "service.weak.data"),
    ],
    ids=["dict", "set", "weak keys"],
)
def test_objects_that_were_there_before_limit_it(fill: Callable[[Service, int], None], path: str) -> None:
    assert bounds(fill, path) == [COUNT + EACH] * ROUNDS


def test_keys_that_come_with_the_entries_do_not() -> None:
    assert bounds(lambda service, _: service.by_object.update({Visit(): 1}), "service.by_object") == [None] * ROUNDS

    def pinned(service: Service, _: int) -> None:
        one = Visit()
        service.weak[one] = [one]

    assert bounds(pinned, "service.weak.data") == [None] * ROUNDS


def test_one_round_with_new_keys_is_enough() -> None:
    def fill(service: Service, at: int) -> None:
        new = EACH <= at < 2 * EACH
        service.by_object[Visit() if new else service.known[at]] = at

    assert bounds(fill, "service.by_object") == [COUNT + EACH, None, None]


def test_values_and_entries_that_are_there_once_may_be_limited_by_their_number() -> None:
    def valued(service: Service, at: int) -> None:
        service.by_name[f"name {at}"] = service.known[at]

    def listed(service: Service, at: int) -> None:
        service.listed.append(service.known[at])

    # At the first look those that are found by another way than before may count as new.
    for fill, path in ((valued, "service.by_name"), (listed, "service.listed")):
        assert bounds(fill, path) == [None] * ROUNDS
        assert bounds(fill, path, "limit")[1:] == [COUNT + EACH] * (ROUNDS - 1)


def test_the_same_object_again_and_again_limits_nothing() -> None:
    def valued(service: Service, at: int) -> None:
        service.by_name[f"name {at}"] = service.known[at % 7]

    def listed(service: Service, at: int) -> None:
        service.listed.append(service.known[at % 7])

    assert bounds(valued, "service.by_name", "limit") == [None] * ROUNDS
    assert bounds(listed, "service.listed", "limit") == [None] * ROUNDS


def test_values_made_anew_are_not_counted() -> None:
    assert (
        bounds(lambda service, at: service.by_object.update({at + 10_000: 1}), "service.by_object") == [None] * ROUNDS
    )
    assert bounds(lambda service, at: service.members.add(f"name {at}"), "service.members") == [None] * ROUNDS


def test_equally_named_classes_are_counted_together() -> None:
    """The walk knows them by name, so that each new one brings its object along."""

    def fill(service: Service, _: int) -> None:
        service.listed.append(type("Made", (), {})())

    assert bounds(fill, "service.listed", "limit") == [None] * ROUNDS


def test_no_key_is_asked_for_its_hash() -> None:
    known = [Hashed() for _ in range(COUNT)]

    def fill(service: Service, at: int) -> None:
        service.in_order[known[at]] = at
        Hashed.asked = 0

    found = bounds(fill, "service.in_order")
    assert found[-1] is not None
    assert Hashed.asked == 0
