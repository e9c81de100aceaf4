# SPDX-License-Identifier: Apache-2.0
"""The native walk: the answers of `walk.py` and `snapshot.py` in a tenth of the time, and in slices when asked."""

from __future__ import annotations

import importlib
import sys
import time
from array import array
from collections import Counter, OrderedDict, defaultdict, deque
from io import BytesIO
from types import AsyncGeneratorType, CodeType, CoroutineType, FrameType, GeneratorType
from typing import TYPE_CHECKING, Any

from vllm_soak.heap.attributes import class_dict, module_dict, type_name
from vllm_soak.heap.kinds import CONTAINERS, LATE, kind_of, own_sizer
from vllm_soak.heap.pace import WHOLE, Pace, Turns
from vllm_soak.heap.snapshot import Grower

if TYPE_CHECKING:
    from collections.abc import Iterable

    from vllm_soak.heap.roots import Root

# Builtin containers: an object of one says nothing of what it is for.
_PLAIN: tuple[type, ...] = (list, dict, tuple, set, frozenset, deque, OrderedDict, defaultdict)
# Types whose size is more than their fixed fields, and whose own method is trusted to run no user code.
_SIZED: tuple[type, ...] = (
    OrderedDict,
    dict,
    list,
    set,
    frozenset,
    deque,
    bytearray,
    str,
    array,
    CodeType,
    FrameType,
    GeneratorType,
    CoroutineType,
    AsyncGeneratorType,
    BytesIO,
)


def native() -> Any:
    """The native module, or None where it was not built."""
    try:
        return importlib.import_module("vllm_soak.heap._heap")
    except ImportError:
        return None


NATIVE = native()


def _sizers() -> tuple[tuple[type, Any], ...]:
    """Types with the method that tells an object's size, or None where its fields and items do."""
    pairs: list[tuple[type, Any]] = [(CodeType, None)] if CodeType.__itemsize__ else []
    pairs += [(cls, class_dict(cls)["__sizeof__"]) for cls in _SIZED if "__sizeof__" in class_dict(cls)]
    numpy = sys.modules.get("numpy")
    ndarray = module_dict(numpy).get("ndarray") if numpy is not None else None
    if type(ndarray) is type and "__sizeof__" in class_dict(ndarray):
        pairs.append((ndarray, class_dict(ndarray)["__sizeof__"]))
    return tuple(pairs)


def rules() -> tuple[Any, ...]:
    """What the native walk is told of types."""
    own = class_dict(type)
    names = ("__name__", "__basicsize__", "__itemsize__", "__dict__", "__subclasses__")
    return (CONTAINERS, LATE, _PLAIN, _sizers(), *(own[name] for name in names), own_sizer)


class NativeWalk:
    """What one walk found; the names are those of `walk.Walk`.

    Args:
        roots: Where to start.
        hidden: The caller's own objects, neither counted nor named.
        pace: How long the interpreter may be held at once.
        registries: Also look where no reference leads: static types, and the collector's rings.
        edges: Record every reference, for `retained()` and `garbage()`; of a walk in one piece only.
        expected: Objects that a walk before found: room is made for so many at once.
    """

    def __init__(
        self,
        roots: Iterable[Root],
        hidden: Iterable[object] = (),
        pace: Pace = WHOLE,
        *,
        registries: bool = True,
        edges: bool = False,
        expected: int = 0,
    ) -> None:
        self.pace = pace
        self.partial = ""
        self._turns = Turns(pace)
        starts = [*roots]
        told = rules()
        own = [*hidden, self, self.__dict__, roots, told]
        sliced = self.pace.max_pause_ms > 0
        self.edges = edges and not sliced
        self.table = NATIVE.Walk(
            told, own, starts, sliced=sliced, registries=registries, expected=expected, edges=self.edges
        )

    def run(self) -> None:
        """Follow everything that the roots reach."""
        ends = time.monotonic() + self.pace.seconds
        while not self._advance():
            if time.monotonic() > ends:
                self.partial = f"the walk was stopped by its time limit after {self.objects} objects"
                break
        self.table.finish()

    def _advance(self) -> bool:
        began = time.monotonic()
        done: bool = self.table.advance(self.pace.max_pause_ms)
        if not done:  # one that waits for another thread's collection is as good as a full slice
            self._turns.rest(max(time.monotonic() - began, self.pace.max_pause_ms / 1000))
        return done

    def close(self) -> None:
        """Give all memory back."""
        self.table.close()

    @property
    def rings(self) -> bool:
        """Whether the collector's rings were where they are expected, and so were looked at."""
        return bool(self.table.counts["rings"])

    @property
    def objects(self) -> int:
        """Objects that were seen, those without references included."""
        found: int = self.table.objects
        return found

    @property
    def containers(self) -> int:
        """Containers among them."""
        found: int = self.table.containers
        return found

    def address(self, container: int) -> int:
        """Address of a container."""
        found: int = self.table.container(container)[0]
        return found

    def length(self, container: int) -> int:
        """`len()` of a container when it was seen."""
        found: int = self.table.container(container)[1]
        return found

    def code(self, container: int) -> int:
        """Sixteen bits of a container's type."""
        return kind_of(self.table.container(container)[2]).code

    def owner(self, container: int) -> int:
        """Address of the object that a container was found through, or 0."""
        found: int = self.table.container(container)[3]
        return found

    def chain(self, container: int) -> list[int]:
        """Addresses from the root down to a container."""
        found: list[int] = self.table.chain(container)
        return found

    def exclusive(self, entries: list[tuple[object, ...]]) -> int:
        """Bytes that only the container keeps alive, of a list of its entries; the list has to hold nothing else."""
        found: int = self.table.exclusive(entries)
        return found

    def mark(self, now: Any, before: Any, named: dict[int, int]) -> None:
        """Tell what containers gained between two snapshots, this walk's and one before, for `fresh()` and `held()`."""
        self.table.mark(now.table, None if before is None else before.table, list(named.items()))

    def below(self, group: int, rows: list[tuple[int, int]]) -> int:
        """The sum of the numbers beside the groups that lie below one."""
        found: int = self.table.below(group, rows)
        return found

    def retained(self, group: int) -> int:
        """Bytes that only the members of a group keep alive, their own included, without numbers and short texts."""
        found: int = self.table.retained(group)
        return found

    def garbage(self) -> Counter[str]:
        """Objects that the next full collection would free, by type."""
        found: Counter[str] = Counter()
        for cls, count in self.table.garbage():
            found[type_name(cls)] += count
        return found

    def unrooted(self) -> Counter[str]:
        """Objects that no root reaches, by type: held by native code alone, or cyclic garbage."""
        rows = (self.table.object(at) for at in range(self.objects))
        return Counter(type_name(cls) for _, cls, parent, _, group in rows if parent < 0 and group > 1)


class NativeSnapshot:
    """Lengths of all containers of one walk; the names are those of `snapshot.Snapshot`."""

    def __init__(self, walk: NativeWalk) -> None:
        self.table = NATIVE.Snapshot(walk.table)

    def container(self, address: int) -> int:
        """Position among the walk's containers, or -1."""
        found: int = self.table.container(address)
        return found

    def settle(self) -> None:
        """Nothing to drop."""

    def growers(self, before: Any) -> list[Grower]:
        """Containers longer than in an earlier snapshot, the largest growth first."""
        return [Grower(container, growth) for container, growth in self.table.growers(before.table)]
