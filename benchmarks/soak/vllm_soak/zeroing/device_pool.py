# SPDX-License-Identifier: Apache-2.0
"""A pool of blocks in the memory of a CUDA device."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

from vllm_soak.zeroing.host_pool import id_array
from vllm_soak.zeroing.native import CUDA_METHODS, IDS_ON_DEVICE, IDS_ON_HOST, INLINE_IDS, Layout, load, raise_for

UNKNOWN_SIZE = 2**31 - 1  # blocks; ids are then only checked to be that of a block at all


def enqueue(layout: Layout, block_ids: Any, device: Any, method: int = 0) -> None:
    """Enqueue zeroing on the current stream of a device.

    Up to 4,000 ids from the host are checked, and travel in the kernel's parameters; more go through
    pinned memory, unchecked but for the kernel, which skips those outside of the pool.

    Args:
        layout: Arrays of it on the device.
        block_ids: Contiguous tensor of 64-bit integers, in host or device memory.
        device: A torch device.
        method: One of `CUDA_METHODS`.

    Raises:
        BlockIdError: A checked id is outside of the pool; nothing was enqueued.
        LayoutError: The layout is not sound.
        DeviceError: The launch failed.
    """
    if not block_ids.is_cuda and block_ids.numel() > INLINE_IDS:
        # Both allocators hand memory on only when the stream is past it.
        pinned = block_ids if block_ids.is_pinned() else block_ids.pin_memory()
        block_ids = pinned.to(device, non_blocking=True)
    ids_on = IDS_ON_DEVICE if block_ids.is_cuda else IDS_ON_HOST
    _call(layout, block_ids.data_ptr(), block_ids, ids_on, device.index, method)


def _call(layout: Layout, pointer: int, ids: Any, ids_on: int, index: int, method: int) -> None:
    from torch import _C

    # The public way to the stream costs microseconds more.
    stream = _C._cuda_getCurrentRawStream(index)  # noqa: SLF001 - see above
    code = load("cuda").zero_blocks_cuda(ctypes.byref(layout), pointer, len(ids), ids_on, method, index, stream)
    if code:
        raise_for(code, ids, layout.num_blocks)


class DevicePool:
    """Segments in device memory, ready to be zeroed by block id on the current stream.

    The table of segments stays on the device, and is never read back. The caller keeps the memory alive.

    Args:
        addresses: Of block 0's page of each segment, in bytes: 64-bit integers, contiguous, on the device.
        max_page_bytes: The largest page.
        strides: Bytes between blocks' pages, a segment each, as `addresses`; None: `max_page_bytes`.
        page_bytes: Bytes to zero, a segment each, as `addresses`; None: `max_page_bytes`.
        num_blocks: Blocks in the pool.
        method: `auto`, `stores` or `bulk`.

    Raises:
        LibraryError: The CUDA library is not usable.
        DeviceError: Its code does not run on this device.
    """

    def __init__(
        self,
        addresses: Any,
        max_page_bytes: int,
        *,
        strides: Any = None,
        page_bytes: Any = None,
        num_blocks: int = UNKNOWN_SIZE,
        method: str = "auto",
    ) -> None:
        self._device, self._method = addresses.device, CUDA_METHODS[method]
        raise_for(load("cuda").zero_blocks_cuda_prepare(self._device.index), (), num_blocks)
        self._kept = (addresses, strides, page_bytes)
        pointers = (0 if column is None else column.data_ptr() for column in self._kept)
        self._layout = Layout(*pointers, addresses.numel(), max_page_bytes, num_blocks)

    def zero(self, block_ids: Sequence[int]) -> None:
        """Enqueue zeroing of these blocks' pages in every segment; raises as `enqueue`."""
        ids = id_array(block_ids)
        if len(ids) <= INLINE_IDS:
            _call(self._layout, ids.buffer_info()[0], ids, IDS_ON_HOST, self._device.index, self._method)
            return
        import torch

        self.zero_tensor(torch.frombuffer(ids, dtype=torch.int64))

    def zero_tensor(self, block_ids: Any) -> None:
        """The same with ids in a tensor, on the host or on the device; raises as `enqueue`."""
        enqueue(self._layout, block_ids, self._device, self._method)
