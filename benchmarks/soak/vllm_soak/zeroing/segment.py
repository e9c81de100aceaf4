# SPDX-License-Identifier: Apache-2.0
"""Segments: the regions of a KV cache that hold one page for each block."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from vllm_soak.zeroing.failure import LayoutError

MOST_SEGMENTS = 4096  # of one tensor; a page in more pieces than that is a layout nobody has


@dataclass(frozen=True)
class Segment:
    """Block b's page is the `page_bytes` bytes at `address + b * stride`.

    Args:
        address: Of block 0's page, in bytes.
        stride: From one block's page to the next one's, in bytes.
        page_bytes: Bytes to zero, a multiple of 4.
    """

    address: int
    stride: int
    page_bytes: int


def segments_of(address: int, shape: Sequence[int], strides: Sequence[int], item_bytes: int) -> list[Segment]:
    """Segments that cover `tensor[b]` for a tensor whose first dimension counts blocks.

    A page that is not one run of memory (K and V halves apart, other layers' data in between) gives a
    segment for each run.

    Args:
        address: Of the tensor's first element.
        shape: Of the tensor.
        strides: Of the tensor, in elements.
        item_bytes: Bytes of an element.

    Raises:
        LayoutError: A page is in more than 4,096 pieces.
    """
    if 0 in shape:
        return []
    dims = zip(shape[1:], strides[1:], strict=True)
    inner = [(size, step * item_bytes) for size, step in dims if size > 1 and step > 0]
    run, outer = _longest_run(sorted(inner, key=lambda dim: dim[1]), item_bytes)
    offsets = list(itertools.islice(_offsets(outer), MOST_SEGMENTS + 1))
    if len(offsets) > MOST_SEGMENTS:
        raise LayoutError(f"a page lies in more than {MOST_SEGMENTS} pieces", "zero it with the engine's own code")
    return [Segment(address + offset, strides[0] * item_bytes, run) for offset in offsets]


def _longest_run(dims: Sequence[tuple[int, int]], item_bytes: int) -> tuple[int, Sequence[tuple[int, int]]]:
    """Bytes that the innermost dimensions cover without a gap, and the dimensions outside of them."""
    run = item_bytes
    for at, (size, step) in enumerate(dims):
        if step != run:
            return run, dims[at:]
        run *= size
    return run, ()


def _offsets(dims: Sequence[tuple[int, int]]) -> Iterator[int]:
    return (sum(where) for where in itertools.product(*(range(0, size * step, step) for size, step in dims)))


def segments_of_tensor(tensor: Any) -> list[Segment]:
    """Segments of a torch tensor whose first dimension counts blocks; see `segments_of`."""
    return segments_of(tensor.data_ptr(), tensor.shape, tensor.stride(), tensor.element_size())
