# SPDX-License-Identifier: Apache-2.0
"""The native libraries beside this file, loaded with ctypes, and their return codes as exceptions.

The interface is `csrc/zero_blocks/zero_blocks.h`; calls release the GIL.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from vllm_soak.zeroing.failure import BlockIdError, DeviceError, LayoutError, LibraryError

ABI = 1
IDS_ON_DEVICE, IDS_ON_HOST = 0, 1
INLINE_IDS = 4000
CPU_METHODS = {"auto": 0, "cached": 1, "stream": 2}
CUDA_METHODS = {"auto": 0, "stores": 1, "bulk": 2}

_BAD_LAYOUT, _DEVICE = -1, -2
_int64, _int, _pointer = ctypes.c_int64, ctypes.c_int, ctypes.c_void_p


class Layout(ctypes.Structure):
    """`struct zero_blocks_layout`: arrays are addresses, in host or device memory, 0 for NULL."""

    _fields_ = (
        ("addresses", _pointer),
        ("strides", _pointer),
        ("page_bytes", _pointer),
        ("num_segments", _int64),
        ("max_page_bytes", _int64),
        ("num_blocks", _int64),
    )


_SIGNATURES: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "zero_blocks_cpu": (_int64, (ctypes.POINTER(Layout), _pointer, _int64, _int, _int)),
    "zero_blocks_cpu_memset": (None, (_pointer, _int64, _int)),
    "zero_blocks_cuda": (_int64, (ctypes.POINTER(Layout), _pointer, _int64, _int, _int, _int, _pointer)),
    "zero_blocks_cuda_prepare": (_int64, (_int,)),
    "zero_blocks_cuda_has_bulk": (_int, (_int,)),
    "zero_blocks_cuda_memset": (_int64, (_pointer, _int64, _int, _pointer)),
    "zero_blocks_cuda_error": (ctypes.c_char_p, ()),
}


@functools.cache
def load(kind: str) -> ctypes.CDLL:
    """Load the library for `cpu` or `cuda`.

    Raises:
        LibraryError: It was not built, cannot be loaded, or is of another version than this package.
    """
    path = Path(__file__).with_name(f"_zero_blocks_{kind}.so")
    if not path.exists():
        missing = "a C compiler" if kind == "cpu" else "CUDA 12.8 or later"
        raise LibraryError(f"{path.name} is not part of this installation", f"install vllm-soak where {missing} is")
    try:
        library = ctypes.CDLL(str(path))
    except OSError as error:
        raise LibraryError(f"{path.name} cannot be loaded ({error})", "install vllm-soak on this machine") from None
    if library.zero_blocks_abi() != ABI:
        raise LibraryError(f"{path.name} belongs to another version of vllm-soak", "install vllm-soak again")
    return _typed(library)


def _typed(library: ctypes.CDLL) -> ctypes.CDLL:
    for name, (result, arguments) in _SIGNATURES.items():
        if hasattr(library, name):
            function = getattr(library, name)
            function.restype, function.argtypes = result, arguments
    return library


def raise_for(code: int, ids: Sequence[int], num_blocks: int) -> None:
    """Turn a return code that is not 0 into its exception.

    Args:
        code: What the library returned.
        ids: The ids of the call, to name the bad one.
        num_blocks: Blocks in the pool.

    Raises:
        BlockIdError: An id is outside of the pool.
        LayoutError: The segments are not sound.
        DeviceError: The CUDA runtime refused.
    """
    if code > 0:
        raise BlockIdError(
            f"block id {ids[code - 1]} at position {code - 1} is outside of a pool of {num_blocks} blocks",
            f"give ids from 0 to {num_blocks - 1}",
        )
    if code == _BAD_LAYOUT:
        raise LayoutError(
            "the segments are not zeroable", "give addresses, strides and pages in whole 4-byte words, none negative"
        )
    if code == _DEVICE:
        said = load("cuda").zero_blocks_cuda_error().decode(errors="replace")
        raise DeviceError(f"CUDA refused to zero blocks ({said})", "look at the driver, and at earlier CUDA errors")
