# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vllm_soak.heap import idset
from vllm_soak.heap.idset import PythonIdSet, new_set, walker_name

needs_native = pytest.mark.skipif(idset.NATIVE is None, reason="the native set is not built on this machine")


@needs_native
@given(st.lists(st.lists(st.integers(0, 300), max_size=60), max_size=20))
def test_both_sets_behave_the_same(batches: list[list[int]]) -> None:
    items = [object() for _ in range(301)]
    native, pure = new_set(), PythonIdSet()
    for at, batch in enumerate(batches):
        objects = [items[one] for one in batch]
        if at % 2:
            assert [native.add(one) for one in objects] == [pure.add(one) for one in objects]
        else:
            assert [id(one) for one in native.add_new(objects)] == [id(one) for one in pure.add_new(objects)]
        assert len(native) == len(pure)
    assert [one in native for one in items] == [one in pure for one in items]


@pytest.mark.parametrize("make", [new_set, PythonIdSet])
def test_add_new_takes_a_list_only(make: type[PythonIdSet]) -> None:
    with pytest.raises(TypeError, match="takes a list"):
        make().add_new((1, 2))  # type: ignore[arg-type]


@pytest.mark.parametrize("make", [new_set, PythonIdSet])
def test_identity_counts_and_no_reference_is_held(make: type[PythonIdSet]) -> None:
    class Hostile:
        def __eq__(self, _other: object) -> bool:
            raise AssertionError("user code ran")

        __hash__ = None  # type: ignore[assignment]

    one, two = Hostile(), Hostile()
    before = sys.getrefcount(one)
    found = make()
    assert found.add(one)
    assert not found.add(one)
    assert len(found.add_new([one, two, two])) == 1
    assert one in found
    assert sys.getrefcount(one) == before


@needs_native
def test_an_entry_of_the_native_set_costs_at_most_sixteen_bytes() -> None:
    items = [object() for _ in range(300_000)]
    found = new_set()
    found.add_new(items)
    assert 8 <= found.nbytes / len(items) <= 16.1
    assert PythonIdSet().nbytes < found.nbytes


def test_the_walker_says_which_set_it_has(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(idset, "NATIVE", None)
    assert walker_name() == "python"
    assert isinstance(new_set(), PythonIdSet)
