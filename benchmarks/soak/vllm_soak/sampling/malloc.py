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
    """`allocated` and `malloc_arena`, `malloc_hblkhd`, `malloc_uordblks`, `malloc_fordblks`, and Python's block count.

    In bytes, blocks apart. `allocated` is what glibc has handed out and not got back, from its heaps
    (`uordblks`) and as mappings of their own (`hblkhd`); Python's small-object arenas are not in it. With
    another allocator in charge (LD_PRELOAD of jemalloc, tcmalloc) glibc's figures say nothing, and are absent.
    """
    values = {"python_blocks": float(sys.getallocatedblocks())}
    ask = getattr(_libc(), "mallinfo2", None)
    if ask is None or not in_charge():
        return values
    ask.restype = MallocInfo
    found = ask()
    values |= {f"malloc_{name}": float(getattr(found, name)) for name in _SHOWN}
    return {**values, "allocated": values["malloc_uordblks"] + values["malloc_hblkhd"]}


@functools.lru_cache(maxsize=1)
def in_charge() -> bool:
    """Whether `malloc` in this process is the C library's own."""
    try:
        own = ctypes.CDLL("libc.so.6")
    except OSError:
        return False
    return _address(_libc()) == _address(own)


def _address(library: ctypes.CDLL | None) -> int | None:
    function = getattr(library, "malloc", None)
    return None if function is None else ctypes.cast(function, ctypes.c_void_p).value


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
