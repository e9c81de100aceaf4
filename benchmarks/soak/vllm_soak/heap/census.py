# SPDX-License-Identifier: Apache-2.0
"""One census after another: which containers grew, at which path, and what an entry costs."""

from __future__ import annotations

import contextlib
import time
from copy import deepcopy
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from vllm_soak.heap.attributes import type_name
from vllm_soak.heap.bounds import bound_of
from vllm_soak.heap.frames import shown_type
from vllm_soak.heap.holders import Lengths
from vllm_soak.heap.inspectors.ages import Age, named_age
from vllm_soak.heap.inspectors.limits import Limit, named_limit
from vllm_soak.heap.inspectors.weak import weak_registry
from vllm_soak.heap.kinds import container_base, kind_of, length, shallow_bytes
from vllm_soak.heap.living import Keyed, Living
from vllm_soak.heap.locate import Locator
from vllm_soak.heap.native import NativeWalk
from vllm_soak.heap.own import own_entries
from vllm_soak.heap.pace import WHOLE, Pace
from vllm_soak.heap.path import is_ours, owner_module
from vllm_soak.heap.populations import Populations
from vllm_soak.heap.retained import exclusive_per_entry, recent_entries
from vllm_soak.heap.roots import all_roots, frame_roots, module_roots
from vllm_soak.heap.samples import samples
from vllm_soak.heap.walker import walk_heap

if TYPE_CHECKING:
    from collections.abc import Callable

    from vllm_soak.heap.inspectors.bound import Bound
    from vllm_soak.heap.locate import Located
    from vllm_soak.heap.path import Path
    from vllm_soak.heap.snapshot import Grower
    from vllm_soak.heap.walker import AnySnapshot, AnyWalk, Walked

ROWS = 200
# Entries are looked into for this many rows only: it costs up to 16,000 objects a row.
MEASURED = 24
# A container below more objects than this is a link of a chain: the chain is named, not the link.
DEEPEST = 64
# Containers without a row that are remembered until the next census: what grows again is named before what grew more.
REMEMBERED = 20_000


@dataclass
class Series:
    """A container that was answered with once, and is from then on.

    Attributes:
        path: The way by which it was first found: what names the series.
        address: Where the container was at the last census.
        code: Sixteen bits of its type.
        length: `len()` at the last census.
        exclusive: Exclusive bytes an entry when last measured.
        samples: What its last entries looked like then.
        limit: A number beside it that read like its limit then.
        age: A time beside it that read like the age at which entries are dropped.
        times: Censuses in a row that it grew in, up to the last one.
        keyed: What is known of the objects that it holds.
    """

    path: Path
    address: int
    code: int
    length: int
    exclusive: float | None = None
    samples: list[str] = field(default_factory=list)
    limit: Limit | None = None
    age: Age | None = None
    times: int = 0
    keyed: Keyed = field(default_factory=Keyed)


class Census:
    """Compares each walk of the heap with the one before. One caller at a time.

    Args:
        hidden: Objects that are not to be walked: the caller's own.
    """

    def __init__(self, hidden: tuple[object, ...] = ()) -> None:
        self._hidden = hidden
        self._before: AnySnapshot | None = None
        self._series: dict[str, Series] = {}
        self._populations = Populations()
        self._objects = 0
        self._left: set[int] = set()

    def take(
        self, *, baseline: bool = False, pace: Pace = WHOLE, retained: bool = False, contents: bool = False
    ) -> dict[str, Any]:
        """Walk the heap and answer as the probe's contract says.

        Args:
            baseline: Forget what was seen before.
            pace: How long the walk may hold the interpreter at once.
            retained: Measure what a population keeps alive from all references, not from what grew beside it;
                costs a third more time and memory, and needs a native walk in one piece.
            contents: Show numbers and the beginning of texts among the samples of new entries.
        """
        started = time.monotonic()
        if baseline:
            self._before, self._series, self._left = None, {}, set()
            self._populations.forget()
        roots = all_roots()
        hidden = (self, self.__dict__, self._series, self._populations, self._left, self._hidden, *self._hidden)
        walked = walk_heap(roots, hidden, pace, retained=retained, expected=self._objects)
        try:
            return self._answer(walked, Locator(roots), started, contents=contents)
        finally:
            walked.walk.close()

    def aside(self) -> Census:
        """A census that compares with the same walk as the next one would, and leaves nothing behind.

        Its populations have nothing to be compared with, so it names containers only.
        """
        other = Census(hidden=(self, self.__dict__, *self._hidden))
        other._before, other._objects = self._before, self._objects
        other._series, other._left = deepcopy(self._series), self._left
        return other

    def lengths(self) -> dict[str, int]:
        """`len()` as it is now of each container that a census has named, by path; one that has moved is absent.

        A look at known paths, not a walk: milliseconds.
        """
        found = {}
        modules = {series.path.root for series in list(self._series.values()) if not series.path.place}
        locator = Locator([*frame_roots(), *module_roots(modules)])
        for text, series in list(self._series.items()):
            with contextlib.suppress(RuntimeError):  # it is being changed
                where = locator.by_path(series.path)
                if where is not None and kind_of(type(where.item)).code == series.code:
                    found[text] = length(where.item, container_base(where.item) or list) - own_entries(where)
        return found

    def _answer(self, walked: Walked, locator: Locator, started: float, *, contents: bool) -> dict[str, Any]:
        walk = walked.walk
        self._objects = walk.objects
        naming = _Naming(walk, walked.snapshot, locator, self._series, contents=contents)
        rows, cut = naming.rows(self._before, self._populations.before, self._left)
        self._left = naming.left
        if isinstance(walk, NativeWalk):
            taken = {row["path"] for row in rows}
            grown = self._populations.rows(
                walk, locator, Lengths(naming.named, naming.growth), taken, contents=contents
            )
            rows += [row for _, row in sorted(grown, key=lambda one: -one[0])]
        self._before = naming.settle()
        return {
            "objects": walk.objects,
            "containers": walk.containers,
            "seconds": time.monotonic() - started,
            "walker": walked.name,
            "partial": "; ".join(filter(None, [walk.partial, _unrooted(walk), cut])),
            "populations": rows,
        }


class _Naming:
    """Gives the containers of one walk their paths and rows."""

    def __init__(
        self, walk: AnyWalk, now: AnySnapshot, locator: Locator, series: dict[str, Series], *, contents: bool
    ) -> None:
        self._contents = contents
        self._walk = walk
        self._now = now
        self._locator = locator
        self._series = series
        self._found: list[tuple[int, Series, Located]] = []
        self._done: set[int] = set()
        self._moved = 0
        self._left = 0
        self.left: set[int] = set()
        self._left_before: set[int] = set()
        self._before: AnySnapshot | None = None
        self.explained: dict[int, int] = {}

    def rows(self, before: AnySnapshot | None, tally: Any, left: set[int]) -> tuple[list[dict[str, Any]], str]:
        """Rows, the largest growth first, and what was cut.

        Args:
            before: The walk before.
            tally: Its tally.
            left: Containers that grew before that walk and had no row.
        """
        self._before, self._left_before = before, left
        for series in self._series.values():
            self._guarded(self._again, series)
        growers = [] if before is None else self._now.growers(before)
        again = [one for one in growers if self._walk.address(one.container) in left]
        for grower in again[: ROWS // 2]:
            self._meet_once(grower)
        for grower in growers:
            self._meet_once(grower, unless_enough=True)
        self._found.sort(key=lambda one: (-one[1].times, -one[0]))
        self._keep_series()
        kept, living = sorted(self._found[:ROWS], key=lambda one: -one[0]), Living(self._walk, tally)
        rows = [
            _row(series, where, growth, living, measured=rank < MEASURED, contents=self._contents)
            for rank, (growth, series, where) in enumerate(kept)
        ]
        return rows, self._cut(self._left)

    def _meet_once(self, grower: Grower, *, unless_enough: bool = False) -> None:
        address = self._walk.address(grower.container)
        if address in self._done:
            return
        if not unless_enough or not self._is_enough(grower.growth):
            self._guarded(self._meet, grower)
            return
        self._left += 1
        if len(self.left) < REMEMBERED:
            self.left.add(address)

    def named(self, address: int) -> int:
        """Entries that a container with a row of its own, or the harness's, gained since the previous census."""
        return self.explained.get(address, 0)

    def growth(self, address: int) -> int:
        """Entries that a container gained since the previous census: all that it has, when it is new."""
        known = self.explained.get(address)
        if known is not None or self._before is None:
            return known or 0
        container = self._now.container(address)
        is_new = container >= 0 and self._before.container(address) < 0
        return self._walk.length(container) if is_new else 0

    def _cut(self, left: int) -> str:
        """What is not among the rows, in words."""
        cut = [f"{left} containers that grew less than the {ROWS} listed were not named"] if left else []
        cut += [f"{self._moved} containers changed while they were being named"] if self._moved else []
        return "; ".join(cut)

    def _guarded(self, act: Callable[[Any], None], what: object) -> None:
        """Name one container; one that another thread is changing just now does not spoil the others."""
        try:
            act(what)
        except RuntimeError:
            self._moved += 1

    def settle(self) -> AnySnapshot:
        """The snapshot, for the next census to compare with."""
        self._now.settle()
        self._found.clear()
        return self._now

    def _is_enough(self, growth: int) -> bool:
        return sum(1 for one in self._found if one[0] >= growth) >= ROWS

    def _keep_series(self) -> None:
        """Forget the series that grew least often and least, beyond the rows of a census."""
        kept = {series.path.text for _, series, _ in self._found[: 2 * ROWS]}
        for text in [text for text in self._series if text not in kept and len(self._series) > 2 * ROWS]:
            del self._series[text]

    def _again(self, series: Series) -> None:
        """A known series: what is at its path now, or the same container if the path leads nowhere."""
        where = self._locator.by_path(series.path)
        if where is None or kind_of(type(where.item)).code != series.code:
            where = self._by_address(series)
        if where is None or id(where.item) in self._done:
            return
        base = container_base(where.item)
        if base is not None:
            self._add(series, where, self._length(where.item, base, series.code) - own_entries(where))

    def _length(self, item: object, base: type, code: int) -> int:
        """A container's length when the walk came past it, so that all of a series is read at the same point.

        In slices that is seconds before it is named. What the walk has not seen is read now.
        """
        container = self._now.container(id(item))
        seen = container >= 0 and self._walk.code(container) == code
        return self._walk.length(container) if seen else length(item, base)

    def _by_address(self, series: Series) -> Located | None:
        container = self._now.container(series.address)
        if container < 0 or self._walk.code(container) != series.code:
            return None
        where = self._locator.by_chain(self._walk.chain(container))
        return where if where is not None and kind_of(type(where.item)).code == series.code else None

    def _add(self, series: Series, where: Located, now: int) -> None:
        self._done.add(id(where.item))
        series.times = series.times + 1 if now > series.length else 0
        self.explained[id(where.item)] = now - series.length
        self._found.append((now - series.length, series, where))
        series.address, series.length = id(where.item), now

    def _meet(self, grower: Grower) -> None:
        """A container that grew for the first time."""
        chain = self._walk.chain(grower.container)
        where = self._locator.by_chain(chain) if len(chain) <= DEEPEST else None
        code = self._walk.code(grower.container)
        if where is None or kind_of(type(where.item)).code != code:  # gone, and its address taken by another object
            return
        growth = grower.growth - own_entries(where, grower.growth)
        if is_ours(owner_module(where.path)) or growth <= 0:
            self.explained[id(where.item)] = grower.growth
            return
        now = self._walk.length(grower.container) - own_entries(where)
        series = Series(self._unique(where.path), id(where.item), code, now - growth)
        series.times = int(id(where.item) in self._left_before)
        self._series[series.path.text] = series
        self._add(series, where, now)

    def _unique(self, path: Path) -> Path:
        while path.text in self._series:
            path = path._replace(ordinal=path.ordinal + 1)
        return path


def _unrooted(walk: AnyWalk) -> str:
    """Why a walk did not look at what no root reaches, or an empty string."""
    if not isinstance(walk, NativeWalk):
        return ""  # it sees containers only, and by name: said with every verdict
    if not walk.rings:
        return "the collector's lists are not where they are expected, so what no root reaches was not seen"
    if walk.table.counts["collecting"]:
        return "a collection was under way in another thread, so what no root reaches was not seen"
    return "what no root reaches is not seen in slices" if walk.pace.max_pause_ms > 0 else ""


def _row(
    series: Series, where: Located, growth: int, living: Living, *, measured: bool, contents: bool
) -> dict[str, Any]:
    base = container_base(where.item) or list
    if measured and growth > 0:
        _look_into(series, where.item, base, contents=contents)
    objects = _bound_by_objects(series, where.item, base, growth, living)
    bound = bound_of(where.item, where.owners) or (objects if series.keyed.by_keys else None)
    if measured:
        found = [named_limit(where.item, where.owners, series.length), _as_limit(objects)]
        series.limit = min((one for one in found if one is not None), default=None)
        series.age = named_age(where.owners)
    limit = series.limit if bound is None and series.limit and series.length <= series.limit.length else None
    return {
        "path": series.path.text,
        "template": series.path.template,
        "fingerprint": series.path.fingerprint,
        "type": type_name(type(where.item)),
        "length": series.length,
        "grown": growth,
        "shallow_bytes": _own_bytes(where.item, base, series.length),
        "exclusive_per_entry": series.exclusive,
        "bound": None if bound is None else bound.length,
        "bound_reason": "" if bound is None else bound.reason,
        "limit": None if limit is None else limit.length,
        "limit_name": "" if limit is None else limit.name,
        "age": None if series.age is None else series.age.seconds,
        "age_name": "" if series.age is None else series.age.name,
        "weak": _weak(where),
        "steps": series.path.steps,
        "entry_types": entry_types(where.item, base),
        "samples": series.samples,
    }


def _as_limit(objects: Bound | None) -> Limit | None:
    return None if objects is None else Limit(objects.length, "the number of objects that it holds or could")


def _bound_by_objects(series: Series, item: object, base: type, growth: int, living: Living) -> Bound | None:
    """The number of objects that it holds or could, where they were there before in each census that it grew in."""
    with contextlib.suppress(RuntimeError):  # it is being changed
        return living.bound(series.keyed, item, base, growth)
    return series.keyed.bound


def _weak(where: Located) -> str:
    try:
        return weak_registry(where.item, where.owners)
    except RuntimeError:  # it is being changed
        return ""


def _look_into(series: Series, item: object, base: type, *, contents: bool) -> None:
    with contextlib.suppress(RuntimeError):  # it is being changed: the last measure stands
        series.exclusive = exclusive_per_entry(item, base)
        series.samples = samples(item, base, contents=contents)


def _own_bytes(item: object, base: type, at_walk: int) -> int:
    """A container's own bytes, in proportion when it became longer since the walk came past it."""
    own, now = shallow_bytes(item), length(item, base) if container_base(item) else 0
    return own * at_walk // now if now > at_walk > 0 else own


def entry_types(container: object, base: type) -> list[str]:
    """Type names of a few recent entries (of a mapping's values), each once; none while it is being changed."""
    if base is bytearray:
        return ["int"]
    try:
        return list(dict.fromkeys(shown_type(entry[-1]) for entry in recent_entries(container, base)))
    except RuntimeError:
        return []
