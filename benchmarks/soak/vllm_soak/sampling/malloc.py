# SPDX-License-Identifier: Apache-2.0
"""The C library's allocator: what it holds, and asking it to give free memory back. glibc only."""

from __future__ import annotations

import ctypes
import functools
import sys

_FIELDS = (
    "arena",
    "ordblks",
    "smblks",
    "hblks",
    "hblkhd",
    "usmblks",
    "fsmblks",
    "uordblks",
    "fordblks",
    "keepcost",
)


class MallocInfo(ctypes.Structure):
    """glibc's `struct mallinfo2` (2.33 and later)."""

    _fields_ = tuple((name, ctypes.c_size_t) for name in _FIELDS)


def malloc() -> dict[str, float]:
    """`malloc_arena`, `malloc_hblkhd`, `malloc_uordblks`, `malloc_fordblks` in bytes, and Python's block count."""
    values = {"python_blocks": float(sys.getallocatedblocks())}
    ask = getattr(_libc(), "mallinfo2", None)
    if ask is not None:
        ask.restype = MallocInfo
        found = ask()
        values |= {f"malloc_{name}": float(getattr(found, name)) for name in _SHOWN}
    return values


def trim() -> bool:
    """Have free memory returned to the system; False where the C library has no `malloc_trim`."""
    ask = getattr(_libc(), "malloc_trim", None)
    if ask is None:
        return False
    ask(ctypes.c_size_t(0))
    return True


@functools.lru_cache(maxsize=1)
def _libc() -> ctypes.CDLL | None:
    try:
        return ctypes.CDLL(None)
    except (OSError, TypeError):
        return None


_SHOWN = ("arena", "hblkhd", "uordblks", "fordblks")
