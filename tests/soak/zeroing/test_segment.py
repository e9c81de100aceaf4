# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vllm_soak.zeroing.failure import LayoutError
from vllm_soak.zeroing.segment import Segment, segments_of

ITEM = 4


@st.composite
def views(draw: st.DrawFn) -> np.ndarray:
    """A view with blocks first, over memory in any order of dimensions and with gaps."""
    shape = draw(st.lists(st.integers(1, 4), min_size=2, max_size=5))
    gaps = [draw(st.integers(0, 2)) for _ in shape]
    memory = np.arange(np.prod([size + gap for size, gap in zip(shape, gaps, strict=True)]), dtype=np.int32)
    order = draw(st.permutations(range(len(shape))))
    full = memory.reshape([shape[at] + gaps[at] for at in order])
    return full.transpose(np.argsort(order))[tuple(slice(size) for size in shape)]


def words(segments: list[Segment], base: int, block: int) -> list[int]:
    return sorted(
        (segment.address + block * segment.stride + at - base) // ITEM
        for segment in segments
        for at in range(0, segment.page_bytes, ITEM)
    )


@settings(max_examples=300, deadline=None)
@given(view=views())
def test_segments_cover_exactly_the_elements_of_a_block(view):
    memory = view.ctypes.data - int(view.flat[0]) * ITEM
    strides = [step // ITEM for step in view.strides]
    segments = segments_of(view.ctypes.data, view.shape, strides, ITEM)
    for block in range(view.shape[0]):
        assert words(segments, memory, block) == sorted(view[block].ravel().tolist())


def test_a_dense_page_is_one_segment_and_apart_halves_are_two():
    assert segments_of(4096, (8, 2, 4, 16), (128, 64, 16, 1), 2) == [Segment(4096, 256, 256)]
    halves = segments_of(4096, (8, 2, 4, 16), (64, 512, 16, 1), 2)
    assert halves == [Segment(4096, 128, 128), Segment(4096 + 1024, 128, 128)]


def test_nothing_to_zero_in_an_empty_tensor():
    assert segments_of(4096, (0, 4), (4, 1), 4) == []
    assert segments_of(4096, (3, 0, 4), (4, 4, 1), 4) == []


def test_a_page_in_too_many_pieces_is_refused():
    with pytest.raises(LayoutError, match="more than 4096 pieces"):
        segments_of(4096, (2, 5000), (10000, 2), 4)
