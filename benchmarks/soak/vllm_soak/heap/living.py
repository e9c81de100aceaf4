# SPDX-License-Identifier: Apache-2.0
"""Containers of objects that were there before: they fill up to the number of these, and no further.

A dict or set has each key once. Where the keys are objects of some class (a class, a function, a program's own object;
weakly referenced ones too) and these do not become more while the container grows, it is filling over a fixed set of
them, and can have no more entries than these. A leak brings its objects along, so their number grows with it.

Where the values of a dict, or the entries of a list, are such objects and none is there twice, it may be the same, or
the run has only not come back to an object yet. So that number is a hint there, as in `inspectors.limits`.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, Any
from weakref import ReferenceType

from vllm_soak.heap.attributes import derives, type_module, type_name
from vllm_soak.heap.inspectors.bound import Bound
from vllm_soak.heap.native import NativeWalk

if TYPE_CHECKING:
    from vllm_soak.heap.walker import AnyWalk

# Keys may become more by one part in this many of what the container gains: others of their class come and go.
IN_STEP = 8
# All keys are looked at, up to so many.
MOST = 50_000
SHOWN = 3


@dataclass
class Keyed:
    """What is known of the objects in a container.

    Attributes:
        bound: Their number, where that limits it.
        by_keys: Whether it does so for certain, because they are its keys; else it is a hint.
        fresh: Whether they came with the entries once, so that it is not asked again.
        living: Objects of their classes at the last look, by the class's name.
    """

    bound: Bound | None = None
    by_keys: bool = True
    fresh: bool = False
    living: dict[str, int] = field(default_factory=dict)


class Living:
    """Counts objects by the names of their classes, once, when first asked.

    By name, since the walk puts objects of equally named classes into one group.

    Args:
        walk: A finished walk; one in Python counts nothing.
        now: Its tally, or None.
        before: The tally of the walk before, or None.
    """

    def __init__(self, walk: AnyWalk, now: Any, before: Any) -> None:
        self._walk = walk
        self._now = now
        self._before = before
        self._living: Counter[str] = Counter()
        self._added: Counter[str] = Counter()
        self._astray = 0

    @property
    def can_tell(self) -> bool:
        """Whether all objects can be counted, and compared with a walk before."""
        return self._now is not None and self._before is not None and not self._walk.partial

    def bound(self, keyed: Keyed, container: Any, base: type, growth: int) -> Bound | None:
        """The number of objects that are in a container or could be, where they did not become more while it grew.

        Args:
            keyed: What is known of the container, which is brought up to date.
            container: The container.
            base: The container type that it derives from.
            growth: Entries that it gained since the census before.

        Raises:
            RuntimeError: It is being changed.
        """
        if keyed.fresh or growth <= 0 or not self.can_tell:
            return keyed.bound
        classes, before = self._classes(keyed, container, base), keyed.living
        if not classes:
            keyed.living, keyed.fresh, keyed.bound = {}, True, None
            return None
        self._count()
        keyed.living = {one: self._living[one] for one in classes}
        came = self._astray + sum(self._came(one, before) for one in classes)
        living = sum(keyed.living.values())
        fixed = came * IN_STEP < growth and living >= base.__len__(container)  # type: ignore[attr-defined]
        # At the first look objects that are now found by another way count as new.
        keyed.fresh = bool(before) and not fixed
        keyed.bound = Bound(living, _reason(living, classes)) if fixed else None
        return keyed.bound

    def _came(self, name: str, before: dict[str, int]) -> int:
        return self._living[name] - before[name] if name in before else self._added[name]

    @staticmethod
    def _classes(keyed: Keyed, container: Any, base: type) -> set[str]:
        """Names of the classes of what each entry has once; none where that is not so."""
        if base is bytearray or base.__len__(container) > MOST:  # type: ignore[attr-defined]
            return set()
        found = _of_keys(container, base) if derives(base, dict) or base is set else set()
        keyed.by_keys = bool(found)
        return found or _of_entries(container, base)

    def _count(self) -> None:
        if self._living or not isinstance(self._walk, NativeWalk):
            return
        kinds, self._astray = self._now.kinds(self._walk.table, self._before)
        for cls, living, added in kinds:
            name = type_name(cls)
            self._living[name] += living
            self._added[name] += added


def _reason(living: int, classes: set[str]) -> str:
    shown = ", ".join(sorted(classes)[:SHOWN]) + (", ..." if len(classes) > SHOWN else "")
    return f"at most one entry for each of the {living:,} objects of type {shown} that live and do not become more"


def _of_keys(container: Any, base: type) -> set[str]:
    """Classes of the keys; none where not all of them are objects of their own."""
    found: set[str] = set()
    # An OrderedDict's own iterator asks each key for its hash.
    keys = dict.__iter__(container) if derives(base, dict) else base.__iter__(container)  # type: ignore[attr-defined]
    for key in keys:
        target = _target(key)
        if not _has_identity(target):
            return set()
        found.add(type_name(type(target)))
    return found


def _of_entries(container: Any, base: type) -> set[str]:
    """Classes of a mapping's values, or of the entries of a sequence; none where an object is there twice."""
    entries = dict.values(container) if derives(base, dict) else base.__iter__(container)  # type: ignore[attr-defined]
    found: set[str] = set()
    there: set[int] = set()
    for one in entries:
        target = _target(one)
        if not _has_identity(target) or id(target) in there:
            return set()
        there.add(id(target))
        found.add(type_name(type(target)))
    return found


def _target(key: object) -> object:
    """What a weak reference refers to; anything else itself; of a memoised call's only argument, that argument."""
    if derives(type(key), ReferenceType):
        return ReferenceType.__call__(key)  # type: ignore[arg-type]
    return key[0] if type(key) is tuple and len(key) == 1 else key


def _has_identity(key: object) -> bool:
    """Whether a key is an object rather than a value that is made anew each time, such as a text or a number."""
    cls = type(key)
    own = type_module(cls) not in {"", "builtins"}
    return own or derives(cls, type) or cls is FunctionType or cls is CodeType
