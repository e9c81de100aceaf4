# SPDX-License-Identifier: Apache-2.0
"""`torch.ops.vllm_soak.zero_blocks`: the native calls as a torch custom op.

The op writes memory that is not among its arguments, so it is marked as having a side effect, which
keeps graph compilers from dropping it.
"""

from __future__ import annotations

import ctypes
import functools
from typing import Any

from vllm_soak.zeroing.device_pool import UNKNOWN_SIZE, enqueue
from vllm_soak.zeroing.failure import LayoutError
from vllm_soak.zeroing.native import CPU_METHODS, Layout, load, raise_for

SCHEMA = (
    "zero_blocks(Tensor segment_addresses, Tensor block_ids, int page_bytes, int? num_blocks=None, "
    "Tensor? block_strides=None, Tensor? segment_page_bytes=None) -> ()"
)


@functools.cache
def register() -> Any:
    """Define the op, once in a process, and return it.

    Arguments of the op:
        segment_addresses: Bytes address of block 0's page of each segment, int64 or uint64. The device
            that this tensor is on is the one that the pages are on.
        block_ids: int64, any order, duplicates allowed; for CUDA either on the device or on the host.
        page_bytes: Bytes of a page, a multiple of 4; 16 is faster. With `segment_page_bytes`, the largest.
        num_blocks: Blocks in the pool. Ids on the host are checked against it (BlockIdError).
        block_strides: int64 bytes from one block's page to the next one's; default `page_bytes`.
        segment_page_bytes: int64 bytes to zero; default `page_bytes`.
    """
    import torch

    library = torch.library.Library("vllm_soak", "FRAGMENT")
    library.define(SCHEMA)
    library.impl("zero_blocks", _on_cpu, "CPU")
    library.impl("zero_blocks", _on_cuda, "CUDA")
    library.impl("zero_blocks", _on_meta, "Meta")
    op = torch.ops.vllm_soak.zero_blocks.default
    torch.fx.node.has_side_effect(op)
    _kept.append(library)  # an op lives as long as its library object
    return op


_kept: list[Any] = []


def _on_cpu(addresses: Any, ids: Any, page_bytes: int, *rest: Any) -> None:
    import torch

    layout = _layout(addresses, ids, page_bytes, *rest)
    zero = load("cpu").zero_blocks_cpu
    code = zero(ctypes.byref(layout), ids.data_ptr(), ids.numel(), torch.get_num_threads(), CPU_METHODS["auto"])
    if code:
        raise_for(code, ids, layout.num_blocks)


def _on_cuda(addresses: Any, ids: Any, page_bytes: int, *rest: Any) -> None:
    enqueue(_layout(addresses, ids, page_bytes, *rest), ids, addresses.device)


def _layout(
    addresses: Any,
    ids: Any,
    page_bytes: int,
    num_blocks: int | None = None,  # torch leaves trailing defaults out
    strides: Any = None,
    segment_page_bytes: Any = None,
) -> Layout:
    """The op's arguments as the native code takes them, after `_check`."""
    _check(addresses, ids, strides, segment_page_bytes)
    return Layout(
        addresses.data_ptr(),
        0 if strides is None else strides.data_ptr(),
        0 if segment_page_bytes is None else segment_page_bytes.data_ptr(),
        addresses.numel(),
        page_bytes,
        UNKNOWN_SIZE if num_blocks is None else num_blocks,
    )


def _on_meta(*_: Any) -> None:
    """Nothing to infer: the op returns nothing."""


def _check(addresses: Any, ids: Any, strides: Any, segment_page_bytes: Any) -> None:
    """Refuse tensors that the native code would misread; written to cost about a microsecond when sound.

    Raises:
        LayoutError: What is wrong with them.
    """
    integers = _integers()
    if ids.dtype not in integers or addresses.dtype not in integers:
        raise LayoutError("addresses and block ids must be 64-bit integers", "convert them with .to(torch.int64)")
    if not (ids.is_contiguous() and addresses.is_contiguous()):
        raise LayoutError("tables and block ids must be contiguous", "call .contiguous() on them")
    if ids.is_cuda and not addresses.is_cuda:
        raise LayoutError("the table of segments is not on the device of the block ids", "move it there")
    for column in (strides, segment_page_bytes):
        if column is not None:
            _check_column(column, addresses)


def _check_column(column: Any, addresses: Any) -> None:
    if column.numel() != addresses.numel() or column.device != addresses.device:
        raise LayoutError("strides and pages must match the addresses", "give one of each a segment, on one device")
    if column.dtype not in _integers() or not column.is_contiguous():
        raise LayoutError("strides and pages must be contiguous 64-bit integers", "convert them")


@functools.cache
def _integers() -> frozenset[Any]:
    import torch

    return frozenset((torch.int64, torch.uint64))
