# SPDX-License-Identifier: Apache-2.0
"""Containers that are keyed by objects which were there before: they fill up to the number of these, and no further.

A dict or set has each key once. Where the keys are objects of some class (a class, a function, a program's own object;
weakly referenced ones too) and these do not become more while the container grows, it is filling over a fixed set of
them. A leak brings its keys along, so their number grows with it.
"""

from __future__ import annotations

from collections import Counter
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, Any
from weakref import ReferenceType

from vllm_soak.heap import native
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


class Living:
    """Counts objects by class, once, when first asked.

    Args:
        walk: A finished walk; one in Python counts nothing.
        before: The tally of the walk before, or None.
    """

    def __init__(self, walk: AnyWalk, before: Any) -> None:
        self._walk = walk
        self._before = before
        self._living: Counter[int] = Counter()
        self._added: Counter[int] = Counter()

    @property
    def can_tell(self) -> bool:
        """Whether objects can be counted, and compared with a walk before."""
        return isinstance(self._walk, NativeWalk) and self._before is not None

    def bound(self, container: Any, base: type, growth: int) -> Bound | None:
        """The number of objects that are keys or could be, where these did not become more while the container grew.

        Args:
            container: The container.
            base: The container type that it derives from.
            growth: Entries that it gained since the census before.

        Raises:
            RuntimeError: It is being changed.
        """
        classes = self._classes(container, base)
        if not classes or not self._count():
            return None
        living = sum(self._living[one] for one in classes)
        if sum(self._added[one] for one in classes) * IN_STEP >= growth:
            return None
        if living < base.__len__(container):  # type: ignore[attr-defined]  # some of them were not seen
            return None
        shown = ", ".join(sorted(classes.values())[:SHOWN]) + (", ..." if len(classes) > SHOWN else "")
        count = f"{living:,} objects of type {shown}"
        return Bound(living, f"at most one entry for each of the {count} that live, and these do not become more")

    def _classes(self, container: Any, base: type) -> dict[int, str]:
        """Classes of the keys by address, with their names; none where not all keys are objects of their own."""
        is_keyed = derives(base, dict) or base is set
        if not is_keyed or not self.can_tell or base.__len__(container) > MOST:  # type: ignore[attr-defined]
            return {}
        found: dict[int, str] = {}
        for key in base.__iter__(container):  # type: ignore[attr-defined]
            target = _target(key)
            if not _has_identity(target):
                return {}
            found[id(type(target))] = type_name(type(target))
        return found

    def _count(self) -> bool:
        if not self._living and isinstance(self._walk, NativeWalk):
            for group in range(self._walk.table.groups):
                _, _, cls, count, _, _ = self._walk.table.group(group)
                self._living[id(cls)] += count
            for group, then, now, _, _ in native.NATIVE.Tally(self._walk.table).grown(self._before):
                self._added[id(self._walk.table.group(group)[2])] += max(0, now - then)
        return bool(self._living)


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
