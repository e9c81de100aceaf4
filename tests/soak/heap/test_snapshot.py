# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from vllm_soak.heap.roots import Root
from vllm_soak.heap.snapshot import Snapshot
from vllm_soak.heap.walk import Walk


def taken(value: object) -> tuple[Walk, Snapshot]:
    walk = Walk()
    walk.run([Root(label="start", value=value, place="main/test", owner="tests", late=False)])
    return walk, Snapshot(walk)


def grown(value: object, before: Snapshot) -> dict[int, int]:
    walk, now = taken(value)
    return {walk.address(one.container): one.growth for one in now.growers(before)}


@given(st.lists(st.integers(0, 5), min_size=1, max_size=300))
def test_every_address_is_found_with_its_length(sizes: list[int]) -> None:
    tree = [list(range(size)) for size in sizes]
    walk, now = taken(tree)
    for one in [tree, *tree]:
        assert now.lengths[now.place(id(one))] == len(one)
        assert walk.address(now.container(id(one))) == id(one)
    assert now.place(1) == -1
    assert now.container(1) == -1
    assert len(now.addresses) == len(tree) + 1


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(-5, 50)), min_size=1, max_size=50))
def test_growers_are_those_that_got_longer(changes: list[tuple[int, int]]) -> None:
    tree: list[Any] = [list(range(size)) for size, _ in changes]
    _, before = taken(tree)
    before.settle()
    for one, (size, change) in zip(tree, changes, strict=True):
        one[:] = range(max(0, size + change))
    expected = {id(one): len(one) - size for one, (size, _) in zip(tree, changes, strict=True) if len(one) > size}
    assert grown(tree, before) == expected


def test_the_largest_growth_comes_first() -> None:
    tree: list[Any] = [[], [], []]
    _, before = taken(tree)
    tree[0] += [1]
    tree[1] += [1, 2, 3]
    tree[2] += [1, 2]
    assert list(grown(tree, before).values()) == [3, 2, 1]


def test_a_lone_replacement_under_one_owner_is_the_same_series() -> None:
    owner: dict[str, Any] = {"ids": [1], "other": {1: 2}}
    _, before = taken(owner)
    kept, owner["ids"] = owner["ids"], [1, 2, 3]
    assert grown(owner, before) == {id(owner["ids"]): 2}
    owner["ids"] = []
    assert grown(owner, before) == {}
    assert kept == [1]


def test_two_replacements_of_one_type_are_not_guessed_at() -> None:
    owner: dict[str, Any] = {"left": [1], "right": [1, 2]}
    _, before = taken(owner)
    kept = list(owner.values())
    owner["left"], owner["right"] = [1, 2, 3], [1, 2, 3, 4]
    assert grown(owner, before) == {}
    assert len(kept) == 2


def test_another_type_at_the_same_place_is_no_growth() -> None:
    owner: dict[str, Any] = {"ids": [1]}
    _, before = taken(owner)
    kept, owner["ids"] = owner["ids"], {1, 2, 3}
    assert grown(owner, before) == {}
    assert kept == [1]
