# SPDX-License-Identifier: Apache-2.0
"""A pool of blocks in host memory."""

from __future__ import annotations

import ctypes
from array import array
from collections.abc import Iterable, Sequence

from vllm_soak.zeroing.failure import BlockIdError
from vllm_soak.zeroing.native import CPU_METHODS, Layout, load, raise_for
from vllm_soak.zeroing.segment import Segment


def id_array(block_ids: Iterable[int]) -> array[int]:
    """Block ids as the 64-bit integers that the libraries take.

    Raises:
        BlockIdError: An id has more than 64 bits.
    """
    try:
        return array("q", block_ids)
    except OverflowError:
        raise BlockIdError("a block id does not fit 64 bits", "give ids from 0 to the pool's size") from None


class HostPool:
    """Segments in host memory, ready to be zeroed by block id.

    The caller keeps the memory alive.

    Args:
        segments: Any number, of any sizes and in any allocations.
        num_blocks: Blocks in the pool; ids from there on are refused.

    Raises:
        LibraryError: The CPU library is not usable.
    """

    def __init__(self, segments: Sequence[Segment], num_blocks: int) -> None:
        self._zero = load("cpu").zero_blocks_cpu
        self._columns = [
            array("q", column)
            for column in (
                [segment.address for segment in segments],
                [segment.stride for segment in segments],
                [segment.page_bytes for segment in segments],
            )
        ]
        addresses, strides, pages = (column.buffer_info()[0] for column in self._columns)
        largest = max((segment.page_bytes for segment in segments), default=0)
        self._layout = ctypes.pointer(Layout(addresses, strides, pages, len(segments), largest, num_blocks))
        self._num_blocks = num_blocks

    def zero(self, block_ids: Iterable[int], threads: int = 1, method: str = "auto") -> None:
        """Zero these blocks' pages in every segment, or none of them on failure.

        Args:
            block_ids: In any order; duplicates are allowed.
            threads: To use at most.
            method: `auto`, `cached` (through the cache) or `stream` (past it).

        Raises:
            BlockIdError: An id is outside of the pool.
            LayoutError: The segments are not sound.
        """
        ids = id_array(block_ids)
        code = self._zero(self._layout, ids.buffer_info()[0], len(ids), threads, CPU_METHODS[method])
        if code:
            raise_for(code, ids, self._num_blocks)
