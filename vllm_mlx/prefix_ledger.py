# SPDX-License-Identifier: Apache-2.0
"""Bytes of a prefix cache's entries: what is resident, and who keeps account of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

LEDGER = "_vllm_soak_ledger"
_DEEPEST = 6  # lists of caches of lists of arrays, and dictionaries around them


class Ledger:
    """Bytes of each entry of one prefix cache.

    Args:
        limit: Bytes that the entries may take together.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.total = 0
        self.too_large = 0
        self._sizes: dict[tuple[int, ...], int] = {}

    def add(self, tokens: Sequence[int], size: int) -> None:
        """Enter an entry; one that is there already stays as it is, as it does in the cache."""
        key = tuple(tokens)
        if key not in self._sizes:
            self._sizes[key] = size
            self.total += size

    def drop(self, tokens: Sequence[int]) -> None:
        """Strike out an entry."""
        self.total -= self._sizes.pop(tuple(tokens), 0)

    def clear(self) -> None:
        """Strike out all entries."""
        self._sizes.clear()
        self.total = 0


def ledger_of(cache: Any) -> Ledger | None:
    """The ledger of a prefix cache, or None of one that was made before the patch was applied."""
    found = vars(cache).get(LEDGER)
    return found if isinstance(found, Ledger) else None


def own_buffers(stored: Any) -> None:
    """Give each array of what is to be stored a buffer of its own size.

    A view keeps the whole buffer that it looks into: the last three columns of a convolution's input keep all of it.
    mlx does not tell the size of that buffer, so a view cannot be counted; `contiguous` copies one that keeps 16 KiB
    more than it shows. The values stay the same, so whoever else reads the cache reads the same. Tuples stay.
    """
    import mlx.core as mx

    made: dict[int, tuple[Any, Any]] = {}  # the replaced one is kept, so that its id stays its own

    for holder, key, array in _slots(stored, _DEEPEST):
        if not isinstance(holder, tuple):
            holder[key] = made.setdefault(id(array), (array, mx.contiguous(array)))[1]
    mx.eval([copy for _, copy in made.values()])


def resident_bytes(stored: Any) -> int:
    """Bytes of the distinct arrays in what is to be stored.

    An array that is a view of a larger buffer counts what it shows: mlx does not tell whose buffer it is.
    """
    return sum({id(array): int(array.nbytes) for _, _, array in _slots(stored, _DEEPEST)}.values())


def _is_array(thing: Any) -> bool:
    return hasattr(thing, "nbytes") and hasattr(thing, "shape") and not hasattr(thing, "state")


def _slots(thing: Any, depth: int) -> Iterator[tuple[Any, Any, Any]]:
    """Where lists, dictionaries and caches hold arrays: the holder, the key or index, and the array."""
    inner = thing if isinstance(thing, list | tuple | dict) else getattr(thing, "__dict__", {})
    for key, part in list(inner.items() if isinstance(inner, dict) else enumerate(inner)):
        if _is_array(part):
            yield inner, key, part
        elif depth > 1:
            yield from _slots(part, depth - 1)


def entries(node: Any) -> Iterator[Any]:
    """Every cached prompt of upstream's tree of tokens."""
    waiting = [node]
    while waiting:
        for step, child in waiting.pop().items():
            if step == "cache":
                yield child.prompt_cache
            else:
                waiting.append(child)
