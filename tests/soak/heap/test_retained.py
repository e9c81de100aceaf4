# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import io
import sys
from collections import OrderedDict, deque
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vllm_soak.heap import native
from vllm_soak.heap.native import NativeWalk
from vllm_soak.heap.retained import exclusive, exclusive_per_entry, recent_entries

Build = Callable[[Any, Any], Any]


class Record:
    def __init__(self) -> None:
        self.payload = bytes(1000)


def test_an_int_shared_with_a_live_object_costs_nothing() -> None:
    blocks = [int("1000") + at for at in range(100)]
    assert exclusive_per_entry(list(blocks), list) == 0.0


def test_small_and_immortal_objects_cost_nothing() -> None:
    assert exclusive_per_entry([None, True, 7, "", ()], list) == 0.0


def test_what_only_the_container_holds_counts_whole() -> None:
    records = [Record() for _ in range(40)]
    size = exclusive_per_entry(records, list)
    assert size is not None
    assert 1000 <= size <= 1400


def test_a_payload_that_others_hold_does_not_count() -> None:
    records = [Record() for _ in range(40)]
    payloads = [record.payload for record in records]
    size = exclusive_per_entry(records, list)
    assert size is not None
    assert 0 < size < 300
    assert len(payloads) == 40


def test_a_cycle_dies_with_its_entry() -> None:
    def knot() -> list[Any]:
        one: list[Any] = [bytes(500)]
        one.append([one])
        return one

    size = exclusive_per_entry([knot() for _ in range(20)], list)
    assert size is not None
    assert size >= 500


def test_a_cycle_that_is_held_elsewhere_lives_on() -> None:
    knots: list[list[Any]] = [[bytes(500)] for _ in range(20)]
    inner = []
    for one in knots:
        link = [one]
        one.append(link)
        inner.append(link)
    assert exclusive_per_entry(knots, list) == 0.0
    assert len(inner) == 20


@pytest.mark.parametrize("make", [dict, OrderedDict])
def test_keys_and_values_both_count(make: Any) -> None:
    mapping = make((f"key number {at} " + "x" * 100, bytes(200)) for at in range(40))
    size = exclusive_per_entry(mapping, dict if make is dict else OrderedDict)
    assert size is not None
    assert 300 <= size <= 500


def test_a_bytearray_has_no_entries_beyond_its_bytes() -> None:
    assert exclusive_per_entry(bytearray(b"abc"), bytearray) == 0.0


def test_an_empty_container_has_no_answer() -> None:
    assert exclusive_per_entry([], list) is None


@given(st.integers(1, 60), st.sampled_from([list, deque, dict.fromkeys]))
def test_the_most_recent_entries_are_looked_at(count: int, make: Any) -> None:
    container = make(range(count))
    found = [entry[0] for entry in recent_entries(container, type(container))]
    assert found == list(range(count))[::-1][:16]


def test_no_reference_is_kept() -> None:
    record = Record()
    records = [record]
    before = sys.getrefcount(record)
    exclusive_per_entry(records, list)
    after = sys.getrefcount(record)
    assert after == before


# Each makes an object of two others, which may be shared with the rest of the graph.
BUILDS: tuple[Build, ...] = (
    lambda one, two: [one, two],
    lambda one, two: (one, two),
    lambda one, two: {"one": one, 2: two},
    lambda one, two: deque([one, two, one]),
    lambda one, _two: one,
    lambda _one, _two: io.BytesIO(bytes(5000)),  # its size is told by a method of its own
    lambda _one, _two: Record,
    lambda _one, two: (two, "é" * 30, 1 << 70, b"bytes", 7.5),
    lambda one, two: zip([one], [two], strict=True),
    lambda one, _two: [[one] * 3, [None] * 2000],  # the second one is too wide to be looked into
    lambda one, _two: (one, tuple(range(10_000, 12_000)), frozenset(range(10_000, 12_000))),  # so are the last two
)
graphs = st.lists(
    st.tuples(st.sampled_from(BUILDS), st.integers(0, 30), st.integers(0, 30), st.booleans()), min_size=1, max_size=30
)


def build(graph: list[tuple[Build, int, int, bool]]) -> tuple[list[Any], list[Any]]:
    """Objects that are entries of one container, and those of them that something else holds too."""
    made: list[Any] = [[]]
    entries, held = [], []
    for make, first, second, is_held in graph:
        made.append(make(made[first % len(made)], made[second % len(made)]))
        entries.append(made[-1])
        held += [made[-1]] if is_held else []
    return entries, held


@pytest.mark.skipif(native.NATIVE is None, reason="the native walk is not built on this machine")
@given(graphs)
@settings(deadline=None)
def test_native_code_weighs_entries_alike(graph: list[tuple[Build, int, int, bool]]) -> None:
    walk = NativeWalk([], registries=False)
    container, held = build(graph)
    expected = exclusive(recent_entries(container, list))
    assert walk.exclusive(recent_entries(container, list)) == expected
    assert len(held) <= len(container)


@pytest.mark.skipif(native.NATIVE is None, reason="the native walk is not built on this machine")
def test_native_code_does_not_look_into_a_wide_tuple() -> None:
    walk = NativeWalk([], registries=False)
    wide = [tuple(object() for _ in range(100_000))]
    assert walk.exclusive(recent_entries(wide, list)) == sys.getsizeof(wide[0])


@pytest.mark.skipif(native.NATIVE is None, reason="the native walk is not built on this machine")
def test_native_code_keeps_no_reference() -> None:
    walk = NativeWalk([], registries=False)
    record = Record()
    before = sys.getrefcount(record), sys.getrefcount(record.payload)
    assert walk.exclusive(recent_entries([record], list)) == 0
    after = sys.getrefcount(record), sys.getrefcount(record.payload)
    assert after == before
