# SPDX-License-Identifier: Apache-2.0
"""A full collection that tells which rings of objects it freed."""

from __future__ import annotations

import functools
import gc
import operator
import os
import sys
import time
from collections import Counter, deque
from types import CellType, FrameType, MethodType, TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple

from vllm_soak.heap import native
from vllm_soak.heap.attributes import derives, type_module
from vllm_soak.heap.frames import shown_type
from vllm_soak.heap.hops import describe
from vllm_soak.heap.native import NativeWalk
from vllm_soak.heap.path import is_ours
from vllm_soak.heap.roots import Root, all_roots

if TYPE_CHECKING:
    from collections.abc import Callable

# Rings that are told, objects that are searched for them, those below one object, and searches for each type.
MOST = 5
SEARCHED = 20_000
BELOW = 2_000
TRIES = 3
# Blocks of memory that a collection freed without a ring, for a walk to look for what they are: most often they are
# the interpreter's own reserves (of tuples up to 40,000), so the walk is not repeated when it finds fewer objects.
UNTOLD = 5_000
FEWEST = 1_000
# Looking takes a second collection: not where one takes longer than this many seconds of this thread's processor time,
# which other programs do not lengthen (nor does waiting for swapped pages).
SLOW = 1.0
# The collector's own list. It goes on filling this one when a program binds `gc.garbage` to another.
_GARBAGE = gc.garbage
# Where in that list is what is being set aside just now; empty at any other time.
_open: list[int] = []
# What a class's instances hang together by: named by the attribute above it.
_BETWEEN: tuple[type, ...] = (dict, list, tuple, set, frozenset, deque, CellType, MethodType)


class Collected(NamedTuple):
    """What one collection found.

    Args:
        objects: Unreachable objects.
        rings: Rows of `Sample.garbage`.
    """

    objects: int
    rings: list[dict[str, Any]]


class Collector:
    """Collects, and looks at what was unreachable on the way.

    The collector is told to set aside what it would free. It has run finalizers and cleared weak references by then, as
    always, and nothing but the list that it makes leads to these objects. They are let go of at once, and a second
    collection frees them; neither runs a finalizer again. Where they do not come into the list, it is not done again.

    Finalizers cut some rings before they can be looked at: a suspended generator lets go of its locals. Where that
    freed much and left nothing to tell, a walk of the heap comes before the next collection, and tells the types of
    what that will free.
    """

    def __init__(self) -> None:
        self._seconds = 0.0
        self._untold = False
        self._in_vain = False
        self._astray = False

    def collect(self) -> Collected:
        """Collect all generations."""
        flags = gc.get_debug()
        # A user's own search for leaks, too large a heap, or a list of garbage that is not the collector's.
        if flags & gc.DEBUG_SAVEALL or self._seconds > SLOW or self._astray:
            return Collected(self._timed(), [])
        types = self._types() if self._untold else []
        before = sys.getallocatedblocks()
        aside = self._set_aside()
        self._astray = aside.number > 0 and not aside.objects
        told = rings(aside.objects)
        found = Collected(aside.number, told or types)
        self._untold = not told and not self._in_vain and before - sys.getallocatedblocks() >= UNTOLD
        aside.objects.clear()
        if found.objects:
            gc.collect()
        return found

    def _types(self) -> list[dict[str, Any]]:
        """Types of what will be freed; a walk that finds little is not made again, since it was reserves that went."""
        found = types_of_garbage()
        self._in_vain = sum(row["objects"] for row in found) < FEWEST
        return [] if self._in_vain else found

    def _set_aside(self) -> _Aside:
        first = len(_GARBAGE)
        _open[:] = [first]
        gc.set_debug(gc.get_debug() | gc.DEBUG_SAVEALL)
        try:
            count = self._timed()
        finally:
            _set_nothing_aside()
        objects = _GARBAGE[first:]
        del _GARBAGE[first:]
        return _Aside(count, objects)

    def _timed(self) -> int:
        started = time.thread_time()
        count = gc.collect()
        self._seconds = time.thread_time() - started
        return count


def _set_nothing_aside() -> None:
    gc.set_debug(gc.get_debug() & ~gc.DEBUG_SAVEALL)  # a finalizer may have set other flags
    _open.clear()


def _in_forked_child() -> None:
    """Another thread may fork meanwhile: nobody is there to end it in the child, which would never free a cycle."""
    first = _open[:1]
    if first:
        _set_nothing_aside()
        del _GARBAGE[first[0] :]


os.register_at_fork(after_in_child=_in_forked_child)


def types_of_garbage() -> list[dict[str, Any]]:
    """One row with the types of what the next full collection would free; empty without the native walk."""
    if native.NATIVE is None:
        return []
    walk = NativeWalk(all_roots(), edges=True)
    try:
        walk.run()
        found = walk.garbage()
    finally:
        walk.close()
    named = [name for name, _ in found.most_common(MOST)]
    count = max(found.values(), default=0)
    return [{"ring": f"among {', '.join(named)}", "count": count, "objects": found.total()}] if named else []


class _Aside(NamedTuple):
    number: int
    objects: list[Any]


def rings(objects: list[Any]) -> list[dict[str, Any]]:
    """Rings among unreachable objects: `ring`, `count` of its first member's type, `objects` in all.

    Args:
        objects: The objects; they are neither changed nor asked for anything that would run their code.
    """
    counts = Counter(id(type(one)) for one in objects)
    search = _Search(objects[:SEARCHED])
    found: list[dict[str, Any]] = []
    for cls in search.types():
        text = search.ring(cls)
        if text:
            found.append({"ring": text, "count": counts[id(cls)], "objects": len(objects)})
    return sorted(found, key=lambda one: -one["count"])[:MOST]


class _Search:
    """Looks for the shortest way from an object back to itself."""

    def __init__(self, objects: list[Any]) -> None:
        self._objects = objects
        self._among = {id(one) for one in objects}
        self._told: set[int] = set()

    def types(self) -> list[type]:
        """Types of the objects but the harness's: classes of somebody's own first, frames last, then by frequency."""
        classes = {id(type(one)): type(one) for one in self._objects}
        counts = Counter(id(type(one)) for one in self._objects)
        known = [cls for cls in classes.values() if not is_ours(type_module(cls)) and not _is_between(cls)]
        return sorted(known, key=lambda cls: (_plainness(cls), -counts[id(cls)]))[: 4 * MOST]

    def ring(self, cls: type) -> str:
        """A ring through an object of a type in words; empty when there is none, or it was told already."""
        if id(cls) in self._told:
            return ""
        for one in [one for one in self._objects if type(one) is cls][:TRIES]:
            chain = self._way(one, functools.partial(operator.is_, one))
            if chain and not any(map(_is_own_frame, chain)):
                self._told |= {id(type(member)) for member in chain}
                return _text(chain)
        return ""

    def _way(self, start: object, is_end: Callable[[object], bool]) -> list[object]:
        """Objects from one down to an end, both included; empty when there is none."""
        above: dict[int, object] = {}
        queue: deque[Any] = deque([start])
        while queue and len(above) < BELOW:
            one = queue.popleft()
            for below in gc.get_referents(one):
                if id(below) in self._among and is_end(below):
                    return [*_chain(above, start, one), below]
                if id(below) in self._among and id(below) not in above:
                    above[id(below)] = one
                    queue.append(below)
        return []


def _chain(above: dict[int, object], start: object, end: object) -> list[object]:
    chain = [end]
    while chain[-1] is not start:
        chain.append(above[id(chain[-1])])
    return chain[::-1]


def _text(chain: list[Any]) -> str:
    """For example `Request.block_hasher -> partial.args[i] -> Request`."""
    text = shown_type(chain[0])
    for hop, item in describe(Root("", chain[0], "ring", "", late=False), chain):
        text += hop.template
        if not _is_between(type(item)):
            text += f" -> {shown_type(item)}"
    return text


def _plainness(cls: type) -> int:
    if cls is FrameType or cls is TracebackType:
        return 2
    return int(type_module(cls) in {"", "builtins"})


def _is_own_frame(one: object) -> bool:
    """Whether an object is a frame of the harness: a census looks at its own among all others."""
    return type(one) is FrameType and is_ours(str(one.f_globals.get("__name__", "")))


def _is_between(cls: type) -> bool:
    return any(cls is one for one in _BETWEEN) or derives(cls, type)
