# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import functools
import sys
from collections import OrderedDict, defaultdict, deque
from types import FunctionType
from typing import Any

import pytest

from vllm_soak.heap import native
from vllm_soak.heap.kinds import container_base, kind_of, length, shallow_bytes
from vllm_soak.heap.roots import Root


class Liar(list):  # type: ignore[type-arg]
    def __len__(self) -> int:
        raise AssertionError("__len__ ran")

    def __sizeof__(self) -> int:
        raise AssertionError("__sizeof__ ran")


class Attributes:
    def __init__(self) -> None:
        self.one = 1


class Slotted:
    __slots__ = ("one",)


@pytest.mark.parametrize(
    "item",
    [
        [],
        [1, 2, 3],
        {},
        {1: 2},
        {1},
        deque([1]),
        OrderedDict(a=1),
        defaultdict(list),
        bytearray(b"abc"),
        b"abc",
        "text",
        (1, 2),
        7,
        1.5,
        Slotted(),
        Attributes(),
    ],
    ids=lambda item: type(item).__name__,
)
def test_the_size_is_what_getsizeof_says(item: object) -> None:
    assert shallow_bytes(item) == sys.getsizeof(item)


def test_a_subclasses_own_methods_do_not_run() -> None:
    item = Liar([1, 2, 3])
    assert container_base(item) is list
    assert length(item, list) == 3
    assert shallow_bytes(item) >= sys.getsizeof([1, 2, 3])


@pytest.mark.parametrize(
    ("item", "base"),
    [(OrderedDict(), OrderedDict), (defaultdict(list), defaultdict), ({}, dict), ((), None), (frozenset(), None)],
)
def test_the_most_derived_container_type_counts(item: object, base: Any) -> None:
    assert container_base(item) is base


def test_what_holds_no_references_is_a_leaf_and_code_comes_late() -> None:
    assert kind_of(int).leaf
    assert kind_of(bytearray).leaf
    assert not kind_of(Attributes).leaf
    assert kind_of(type(test_what_holds_no_references_is_a_leaf_and_code_comes_late)).late
    assert kind_of(type).late
    assert not kind_of(Attributes).late
    assert kind_of(list).code != kind_of(Liar).code


@pytest.mark.skipif(native.NATIVE is None, reason="the native walk is not built on this machine")
def test_code_objects_are_measured_by_their_fields() -> None:
    codes = [one.__code__ for one in vars(functools).values() if type(one) is FunctionType]
    walk = native.NativeWalk([Root("codes", codes, place="main/test", owner="tests", late=False)], registries=False)
    walk.run()
    sizes = {row[0]: row[3] for row in map(walk.table.object, range(walk.objects))}
    walk.close()
    assert [sizes[id(code)] for code in codes] == [sys.getsizeof(code) for code in codes]
