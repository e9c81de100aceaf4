# SPDX-License-Identifier: Apache-2.0
"""One breadth-first walk of the object graph: what is reachable, through what, and how long each container is.

What is kept of an object is its address, and for a container four numbers, all in columns. References are
held only to the objects of the level being walked, never to one of `gc.get_objects()`: holding a tuple that
another thread is still building would break that thread.
"""

from __future__ import annotations

import gc
import time
from array import array
from collections import OrderedDict, defaultdict, deque
from itertools import islice
from typing import TYPE_CHECKING, Any

from vllm_soak.heap.column import Column
from vllm_soak.heap.idset import new_set
from vllm_soak.heap.kinds import Kind, kind_of
from vllm_soak.heap.retained import exclusive

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from vllm_soak.heap.roots import Root

# Entries of one container that are read in one uninterruptible step (about 50 microseconds).
STEP = 4096
NO_PARENT = 0xFFFFFFFF


class Walk:
    """What one walk found.

    Attributes:
        order: Address of each object that was followed, in order of discovery.
        parents: Position in `order` of the object that each was found through, or `NO_PARENT`.
        positions: Position in `order` of each container.
        lengths: `len()` of each container.
        codes: Sixteen bits of each container's type.
        partial: Why the walk stopped early, or an empty string.
    """

    def __init__(self, hidden: Iterable[object] = (), seconds: float = 60.0) -> None:
        self.order = Column("Q")
        self.parents = Column("I")
        self.positions = Column("I")
        self.lengths = Column("Q")
        self.codes = Column("H")
        self.partial = ""
        self.seen = new_set()
        for item in hidden:
            self.seen.add(item)
        self._kinds: dict[int, Kind] = {}
        self._huge: set[int] = set()
        self._next = _Level()
        self._late = _Level()
        self._ends = time.monotonic() + seconds

    def run(self, roots: Iterable[Root]) -> None:
        """Follow everything that the roots reach."""
        for root in roots:
            for item in self.seen.add_new([root.value]):
                self._discover(item, NO_PARENT, late=root.late)
        while self._next.items or self._late.items:
            if not self._next.items:
                self._next, self._late = self._late, _Level()
            level, self._next = self._next, _Level()
            if not self._follow(level):
                self.partial = f"the walk was stopped by its time limit after {len(self.seen)} objects"
                break
        self._next, self._late = _Level(), _Level()
        self._kinds.clear()

    @property
    def objects(self) -> int:
        """Objects that were seen, those without references included."""
        return len(self.seen)

    @property
    def containers(self) -> int:
        """Containers among them."""
        return len(self.positions)

    def address(self, container: int) -> int:
        """Address of a container by its position among containers."""
        return self.order[self.positions[container]]

    def length(self, container: int) -> int:
        """`len()` of a container when it was seen."""
        return self.lengths[container]

    def code(self, container: int) -> int:
        """Sixteen bits of a container's type."""
        return self.codes[container]

    def close(self) -> None:
        """Nothing to give back at once; the native walk has."""

    def exclusive(self, entries: list[tuple[object, ...]]) -> int:
        """Bytes that only the container keeps alive, of a list of its entries."""
        return exclusive(entries)

    def owner(self, container: int) -> int:
        """Address of the object that a container was found through, or 0."""
        parent = self.parents[self.positions[container]]
        return 0 if parent == NO_PARENT else self.order[parent]

    def chain(self, container: int) -> list[int]:
        """Addresses from the root down to a container."""
        return self.way(self.positions[container])

    def way(self, at: int) -> list[int]:
        """Addresses from the root down to an object by its position in `order`."""
        found = []
        while at != NO_PARENT:
            found.append(self.order[at])
            at = self.parents[at]
        return found[::-1]

    def _follow(self, level: _Level) -> bool:
        add_new, discover, referents = self.seen.add_new, self._discover, gc.get_referents
        for count, (item, at) in enumerate(zip(level.items, level.places, strict=True)):
            steps = in_steps(item) if at in self._huge else (referents(item),)
            for step in steps:
                for found in add_new(step):
                    discover(found, at)
            if not count & 0xFFF and time.monotonic() > self._ends:
                return False
        return True

    def _discover(self, item: object, parent: int, *, late: bool = False) -> None:
        cls = type(item)
        kind = self._kinds.get(id(cls))
        if kind is None:
            kind = self._kinds[id(cls)] = kind_of(cls)
        at = len(self.order)
        if kind.base is not None:
            self._count(kind, at, kind.base.__len__(item))  # type: ignore[attr-defined]
        elif kind.leaf:
            return
        self.order.append(id(item))
        self.parents.append(parent)
        level = self._late if late or kind.late else self._next
        level.items.append(item)
        level.places.append(at)

    def _count(self, kind: Kind, at: int, length: int) -> None:
        self.positions.append(at)
        self.lengths.append(length)
        self.codes.append(kind.code)
        if length > STEP:
            self._huge.add(at)


class _Level:
    """Objects at one distance from the roots. Two columns: a tuple each would feed the collector's counter."""

    def __init__(self) -> None:
        self.items: list[object] = []
        self.places = array("I")


def in_steps(item: Any) -> Iterator[list[object]]:
    """What a huge container refers to, in steps that are short for the other threads."""
    cls = type(item)
    if cls is list:
        yield from (item[start : start + STEP] for start in range(0, len(item), STEP))
    elif cls is dict or cls is defaultdict or cls is OrderedDict:
        yield from _batches(item, [lambda: dict.keys(item), lambda: dict.values(item)])
    elif cls is set or cls is deque:
        yield from _batches(item, [item.__iter__])
    else:
        yield gc.get_referents(item)


def _batches(item: object, parts: list[Callable[[], Iterable[object]]]) -> Iterator[list[object]]:
    try:
        for part in parts:
            entries = iter(part())
            while batch := list(islice(entries, STEP)):
                yield batch
    except RuntimeError:  # it changed size while being read: once more, in one step
        yield gc.get_referents(item)
