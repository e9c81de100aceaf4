# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

from vllm_soak.heap.inspectors.compared import compared_with
from vllm_soak.heap.inspectors.limits import named_limit

Way = Callable[[object], list[object]]


class Held:
    """What holds `entries`; each subclass limits it in its own way."""

    def __init__(self) -> None:
        self.entries: list[int] = []
        self.n = 300


class Literal(Held):
    def add(self, one: int) -> None:
        if len(self.entries) > 700:
            self.entries.pop()
        self.entries.append(one)


class Attribute(Held):
    def add(self, one: int) -> None:
        while len(self.entries) >= self.n:
            self.entries.pop()
        self.entries.append(one)


class Turned(Held):
    def add(self, one: int) -> None:
        if self.n > len(self.entries):
            self.entries.append(one)


class Cut(Held):
    def add(self, one: int) -> None:
        self.entries.append(one)
        self.entries = self.entries[-self.n :]


class CutAtANumber(Held):
    def add(self, one: int) -> None:
        self.entries.append(one)
        del self.entries[:-500]


class InAProperty(Held):
    @property
    def is_full(self) -> bool:
        return len(self.entries) >= 900


class Slotted:
    __slots__ = ("entries",)

    def __init__(self) -> None:
        self.entries: list[int] = []

    def add(self, one: int) -> None:
        if len(self.entries) < 60:
            self.entries.append(one)


CASES = [
    (Literal, (700, "the number in Literal.add()")),
    (Attribute, (300, "Attribute.n")),
    (Turned, (300, "Turned.n")),
    (Cut, (300, "Cut.n")),
    (CutAtANumber, (500, "the number in CutAtANumber.add()")),
    (InAProperty, (900, "the number in InAProperty.is_full()")),
    (Slotted, (60, "the number in Slotted.add()")),
]


@pytest.mark.parametrize(("cls", "limit"), CASES, ids=[cls.__name__ for cls, _ in CASES])
def test_a_number_that_its_code_compares_with(cls: type[Any], limit: tuple[int, str], way_to: Way) -> None:
    held = cls()
    assert compared_with(held.entries, [held]) == [limit]
    assert named_limit(held.entries, [held], 10) == limit
    assert named_limit(held.entries, [held], limit[0] + 1) is None
    assert "__dict__" not in dir(held) or held.__dict__  # it is made now, where it was not yet
    assert compared_with(held.entries, way_to(held)) == [limit]


class Other(Held):
    """Numbers that say nothing of `entries`."""

    def __init__(self) -> None:
        super().__init__()
        self.others: list[int] = []

    def add(self, one: int) -> None:
        if len(self.others) > 700 or one > 800 or self.n > 400:
            self.entries.append(one)
        if len(self.entries):
            self.others = self.entries[900:]


def test_numbers_of_something_else_are_none_of_it() -> None:
    held = Other()
    assert compared_with(held.entries, [held]) == []


def module(text: str) -> dict[str, Any]:
    made = ModuleType("made")
    exec(text, made.__dict__)
    return made.__dict__


MODULES = {
    "LIMIT = 700\nC = {}\ndef put(k):\n  if len(C) > LIMIT: C.popitem()\n  C[k] = k": (700, "made.LIMIT"),
    "C = []\ndef put(k):\n  if len(C) < 20000: C.append(k)": (20000, "the number in put()"),
    "C = []\nclass A:\n  def put(self, k):\n    if len(C) < 200: C.append(k)": (200, "the number in A.put()"),
}


@pytest.mark.parametrize("text", MODULES)
def test_of_a_module(text: str) -> None:
    names = module(text)
    assert compared_with(names["C"], [names]) == [MODULES[text]]


def memoised(capacity: int) -> Callable[[int], None]:
    known: list[int] = []

    def put(key: int) -> None:
        if len(known) < capacity:
            known.append(key)

    return put


def test_of_a_function_that_has_captured_it() -> None:
    put: Any = memoised(150)
    known = put.__closure__[put.__code__.co_freevars.index("known")].cell_contents
    assert compared_with(known, [put, put.__closure__]) == [(150, "<capacity>")]


class Hostile:
    """Nothing of its own runs."""

    def __init__(self) -> None:
        self.entries: list[int] = []

    def __getattribute__(self, name: str) -> Any:
        if sys._getframe(1).f_code.co_name != "test_nobodys_code_runs" and name != "entries":
            raise AssertionError(name)
        return object.__getattribute__(self, name)

    @property
    def __class__(self) -> Any:  # type: ignore[override]
        raise AssertionError("__class__")

    def add(self) -> None:
        if len(self.entries) > 70:
            self.entries.clear()


def test_nobodys_code_runs() -> None:
    held = Hostile()
    assert compared_with(held.entries, [held]) == [(70, "the number in Hostile.add()")]
    names = module("C = []\ndef put(k):\n  if len(C) < 200: C.append(k)")
    names["held"] = held
    assert compared_with(names["C"], [names]) == [(200, "the number in put()")]


class Constant:
    """Among the constants of code that was rewritten."""

    def __repr__(self) -> str:
        raise AssertionError("shown")


@pytest.mark.parametrize("constant", [Constant(), (1, (Constant(),)), 1 << 20_000], ids=["object", "tuple", "long int"])
def test_constants_that_cannot_be_shown_leave_a_function_out(constant: object) -> None:
    names = module(
        "C = []\ndef put(k):\n  if len(C) < 200: C.append(k)\ndef get(k):\n  return 'it' if len(C) < 100 else k"
    )
    code = names["get"].__code__
    names["get"].__code__ = code.replace(co_consts=tuple(constant if one == "it" else one for one in code.co_consts))
    assert compared_with(names["C"], [names]) == [(200, "the number in put()")]


def test_a_namespace_without_a_name_is_nobodys() -> None:
    names = module("C = []\ndef put(k):\n  if len(C) < 200: C.append(k)")
    names["__name__"] = Constant()
    assert compared_with(names["C"], [names]) == []
