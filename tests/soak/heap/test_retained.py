# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import sys
from collections import OrderedDict, deque
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vllm_soak.heap.retained import exclusive_per_entry, recent_entries


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
