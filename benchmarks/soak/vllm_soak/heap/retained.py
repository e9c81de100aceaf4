# SPDX-License-Identifier: Apache-2.0
"""What an entry of a container costs: the bytes that only this container keeps alive.

Trial deletion, as a cycle collector does it: an object dies with the entry when all references to it come
from objects that die with the entry, the container's own slot included.
"""

from __future__ import annotations

import gc
import sys
from collections import OrderedDict
from itertools import islice
from typing import TYPE_CHECKING, Any

from vllm_soak.heap.attributes import derives
from vllm_soak.heap.kinds import container_base, length, shallow_bytes

if TYPE_CHECKING:
    from collections.abc import Callable

    Weigh = Callable[[list[tuple[object, ...]]], int]

ENTRIES = 16
# Objects that are looked at below one entry: what is beyond counts as kept alive by others.
REACH = 1000


def recent_entries(container: Any, base: type, count: int = ENTRIES) -> list[tuple[object, ...]]:
    """The entries added last (any, of a set): one object each, or a mapping's key and value.

    An object stands in its entry once for each reference that the container has to it.
    """
    if derives(base, dict):
        return _pairs(container, base, count)
    if base is set:
        return [(one,) for one in islice(set.__iter__(container), count)]
    if base is bytearray:
        return []
    return [(one,) for one in islice(base.__reversed__(container), count)]  # type: ignore[attr-defined]


def _pairs(container: dict[Any, Any], base: type, count: int) -> list[tuple[object, ...]]:
    """Keys with their values, from the end, without hashing a key."""
    keys = islice(dict.__reversed__(container), count)
    values = islice(reversed(dict.values(container)), count)
    if derives(base, OrderedDict):  # it keeps its order in a second list of the keys
        return [(key, key, value) for key, value in zip(keys, values, strict=False)]
    return list(zip(keys, values, strict=False))


def exclusive_per_entry(container: object, base: type, weigh: Weigh | None = None) -> float | None:
    """Mean exclusive bytes of a few recent entries, without the container's slots; None for an empty one.

    Args:
        container: The container.
        base: Its builtin type.
        weigh: Adds up the bytes that entries keep alive; `exclusive()` unless a native walk does it.
    """
    if base is bytearray:
        return 0.0
    entries = recent_entries(container, base)
    return (weigh or exclusive)(entries) / len(entries) if entries else None


def exclusive(entries: list[tuple[object, ...]]) -> int:
    """Bytes of entries of one container, each as if it alone were let go of."""
    return sum(map(exclusive_bytes, entries))


def exclusive_bytes(entry: tuple[object, ...]) -> int:
    """Bytes that would be freed if the container let go of this entry, without the container's slot.

    Args:
        entry: The entry's objects. Beside the container's, this tuple must be the only reference to
            each that the caller holds.
    """
    return sum(map(shallow_bytes, _Subtree(entry).dying()))


def _baseline() -> int:
    items = [object()]
    return sys.getrefcount(items[0])


# What `getrefcount` says of an object that only one list holds.
_ALONE = _baseline()
# Beyond this many references an object is shared (a type, a constant, or an immortal): not looked into.
_SHARED = 1000
# Containers that do not change, and may be as wide as those that do.
_FIXED = (tuple, frozenset)


class _Subtree:
    """Objects below an entry, and how many references each has from among them."""

    def __init__(self, entry: tuple[object, ...]) -> None:
        self._items: list[object] = []
        self._places: dict[int, int] = {}
        self._known: list[int] = []
        self._edges: list[list[int]] = []
        for one in entry:
            self._refer(one, references=2)  # the container's slot and the caller's tuple
        while len(self._edges) < len(self._items):
            self._edges.append(self._expand(len(self._edges)))

    def dying(self) -> list[object]:
        """The objects that only the entry keeps alive."""
        alive = [at for at in range(len(self._items)) if self._has_others(at)]
        reached = set(alive)
        while alive:
            fresh = [at for at in self._edges[alive.pop()] if at not in reached]
            reached.update(fresh)
            alive += fresh
        return [item for at, item in enumerate(self._items) if at not in reached]

    def _has_others(self, at: int) -> bool:
        # By index: a loop variable would be one more reference.
        return sys.getrefcount(self._items[at]) - _ALONE > self._known[at]

    def _expand(self, at: int) -> list[int]:
        if len(self._items) > REACH or sys.getrefcount(self._items[at]) > _SHARED or self._is_wide(at):
            return []
        return [self._refer(one) for one in gc.get_referents(self._items[at])]

    def _is_wide(self, at: int) -> bool:
        one = self._items[at]
        base = container_base(one) or next((cls for cls in _FIXED if derives(type(one), cls)), None)
        return base is not None and length(one, base) > REACH

    def _refer(self, item: object, references: int = 1) -> int:
        at = self._places.setdefault(id(item), len(self._items))
        if at == len(self._items):
            self._items.append(item)
            self._known.append(0)
        self._known[at] += references
        return at
