# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vllm_soak.heap.column import Column


@given(st.sampled_from(["Q", "I", "H"]), st.data())
def test_a_column_holds_what_a_list_holds(code: str, data: st.DataObject) -> None:
    limit = {"Q": 2**64, "I": 2**32, "H": 2**16}[code] - 1
    values = data.draw(st.lists(st.integers(0, limit), max_size=100))
    column = Column(code, values, capacity=data.draw(st.integers(0, 8)))
    assert list(column) == values
    assert [column[at] for at in range(len(column))] == values


def test_beyond_the_end_is_an_error_even_where_there_is_room() -> None:
    column = Column("Q", [7], capacity=64)
    with pytest.raises(IndexError):
        column[1]
