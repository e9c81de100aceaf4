# SPDX-License-Identifier: Apache-2.0
"""`kv-block-zeroer`, the GPU's half: `KVBlockZeroer.zero_block_ids` through the native op.

Upstream computes a table of segments once and launches a Triton kernel over it. The table is taken as
it is, device tensors and all; only the launch is another one.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from vllm_soak.patching.fingerprint import table
from vllm_soak.patching.patch import Target
from vllm_soak.zeroing.device_pool import DevicePool
from vllm_soak.zeroing.failure import LayoutError
from vllm_soak.zeroing.host_pool import HostPool
from vllm_soak.zeroing.native import load
from vllm_soak.zeroing.route import Same, Zero, is_routed, say_at_work, zeroed
from vllm_soak.zeroing.segment import Segment
from vllm_soak.zeroing.support import why_not

_WORD = 4  # upstream counts in 4-byte elements
_UNCHECKED = 2**31 - 1  # the table does not say how many blocks there are


def route(zero_block_ids: Callable[..., None]) -> Callable[..., None]:
    """Wrap `KVBlockZeroer.zero_block_ids` to use the op where it can be used."""

    @functools.wraps(zero_block_ids)
    def routed(self: Any, block_ids: list[int]) -> None:
        meta = self._meta
        if not block_ids or meta is None or not zeroed(self, block_ids, Same(meta), lambda: _zero_of(meta)):
            zero_block_ids(self, block_ids)

    return routed


def _zero_of(meta: Sequence[Any]) -> Zero:
    """A function that zeroes blocks, from upstream's table.

    Raises:
        ZeroingError: The op cannot be used on this device, or the table is of an unknown form.
    """
    addresses, max_page, strides, pages = _columns(meta)
    if reason := why_not(addresses.device):
        raise LayoutError(f"the op cannot be used on {addresses.device}: {reason.rstrip('.')}", "nothing needs doing")
    say_at_work(addresses.device, addresses.numel())
    if addresses.is_cuda:
        return DevicePool(addresses, max_page, strides=strides, page_bytes=pages).zero
    return _on_host(addresses, max_page, strides, pages)


def _columns(meta: Sequence[Any]) -> tuple[Any, int, Any, Any]:
    """Addresses, largest page in bytes, strides and pages in bytes (None: all are the largest page).

    The three forms are those of 0.17.1 to 0.26 (one page size), 0.27 (a size each), and 0.28 and later
    (also a stride each). Sizes on the device are converted there, without waiting.
    """
    addresses, *rest = meta
    if len(meta) == 4:
        return addresses, rest[0] * _WORD, None, None
    if len(meta) == 5:
        pages, chunks, chunk, _ = rest
        return addresses, chunks * chunk * _WORD, pages * _WORD, pages * _WORD
    if len(meta) == 6:
        strides, pages, chunks, chunk, _ = rest
        return addresses, chunks * chunk * _WORD, strides * _WORD, pages * _WORD
    raise LayoutError(f"vLLM's table of segments has {len(meta)} parts", "report this release to vllm-soak")


def _on_host(addresses: Any, max_page: int, strides: Any, pages: Any) -> Zero:
    import torch

    uniform = [max_page] * addresses.numel()
    columns = (addresses, uniform if strides is None else strides, uniform if pages is None else pages)
    rows = zip(*(column if isinstance(column, list) else column.tolist() for column in columns), strict=True)
    pool = HostPool([Segment(*row) for row in rows], _UNCHECKED)
    return lambda block_ids: pool.zero(block_ids, torch.get_num_threads())


def is_upstreams(zeroer: Any) -> bool:
    """Behaviour check: whether a zeroer (or a CPU runner) that has zeroed blocks did so by vLLM's own code."""
    return not is_routed(zeroer)


def require_library() -> None:
    """Make sure that there is an op to route to; every build with a C compiler has the CPU's.

    Raises:
        LibraryError: There is none.
    """
    load("cpu")


TARGETS = (
    Target(
        path="vllm.v1.worker.utils:KVBlockZeroer.zero_block_ids",
        parameters=("self", "block_ids"),
        build=route,
        fingerprints=table(
            {
                "53e4b12e722a5f9f": "0.17.1 0.18.0 0.18.1 0.19.0 0.19.1 0.20.0 0.20.1 0.20.2 0.21.0 0.22.0 0.22.1 "
                "0.23.0 0.24.0 0.25.0 0.25.1",
                "2c6a554f142974b0": "0.26.0",
                "8c6e5cccbadd0b5c": "0.27.0 0.27.1",
                "762790aca355cda3": "0.28.0 0.29.0 0.30.0 0.31.0 0.32.0",
            }
        ),
    ),
)
