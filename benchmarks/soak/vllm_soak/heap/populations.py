# SPDX-License-Identifier: Apache-2.0
"""Objects that pile up without any one container growing: chains, many small containers, what native code holds.

The native walk puts objects that are reached in the same way into one group. A group that grew stands for its
growth when the group above it did not grow in step, and no container that grew explains it.
"""

from __future__ import annotations

from array import array
from collections import Counter
from dataclasses import dataclass, field
from types import FrameType
from typing import TYPE_CHECKING, Any, NamedTuple

from vllm_soak.heap import native
from vllm_soak.heap.attributes import type_module, type_name
from vllm_soak.heap.chains import Chains
from vllm_soak.heap.frames import shown_type
from vllm_soak.heap.holders import Holders
from vllm_soak.heap.inspectors.elements import one_an_entry, one_an_owner
from vllm_soak.heap.inspectors.evicting import memoised_in
from vllm_soak.heap.own import is_own_code
from vllm_soak.heap.path import Path, Rung, is_ours, owner_module
from vllm_soak.heap.payload import REPLACED, buffer_bytes, payload_bytes, types_by_bytes
from vllm_soak.heap.samples import sample

if TYPE_CHECKING:
    from collections.abc import Iterator

    from vllm_soak.heap.holders import Lengths
    from vllm_soak.heap.inspectors.bound import Bound
    from vllm_soak.heap.locate import Located, Locator
    from vllm_soak.heap.native import NativeWalk

# Groups are named for this many at most: each costs a search along its path.
NAMED = 24
# Members of a group that are looked at.
SAMPLES = 5
# Members that are described, and objects that are looked at above one, since a chain may be long.
NEWEST = 3
FARTHEST = 20_000
# A group or container explains growth below it when it grew by at least one part in this many.
IN_STEP = 8
# Fewer new objects than this in one round are what a lazy import or a log line leaves.
FEWEST = 3
_OWN_GROUPS = 2


class Grown(NamedTuple):
    """A group at two censuses."""

    group: int
    objects_before: int
    objects: int
    bytes_before: int
    bytes_now: int

    @property
    def added(self) -> int:
        """Objects added."""
        return self.objects - self.objects_before

    @property
    def bytes_added(self) -> int:
        """Bytes added."""
        return self.bytes_now - self.bytes_before


@dataclass
class Tracked:
    """A group that was answered with once, and is from then on.

    Attributes:
        path: The way to its first member.
        by_bytes: Its length is its bytes: the objects are the same, but longer.
        exclusive: Bytes that came with each new member, beyond its own.
        entry_types: Types of members.
        samples: What a few members look like.
        length: Their number, or bytes, at the last census; None before the first.
        bound: The greatest number of them, where one is known.
        holders: Members below each object that their chains hang on, until it is known which of these grows.
    """

    path: Path
    type: str
    by_bytes: bool
    exclusive: float | None
    entry_types: list[str]
    samples: list[str]
    length: int | None = None
    bound: Bound | None = None
    holders: Counter[int] = field(default_factory=Counter)


class Populations:
    """Compares the groups of each walk with those of the one before.

    Attributes:
        before: Tally of the walk before, or None.
    """

    def __init__(self) -> None:
        self.before: Any = None
        self._tracked: dict[int, Tracked] = {}

    def forget(self) -> None:
        """Start anew."""
        self.before, self._tracked = None, {}

    def rows(
        self,
        walk: NativeWalk,
        locator: Locator,
        lengths: Lengths,
        taken: set[str],
        *,
        contents: bool = False,
    ) -> list[tuple[int, dict[str, Any]]]:
        """Rows with their growth in objects, for groups that grew now or before.

        Args:
            walk: A finished walk.
            locator: Finds objects from its roots.
            lengths: Entries that the container at an address gained.
            taken: Paths of other rows.
            contents: Show the contents of samples.
        """
        now = native.NATIVE.Tally(walk.table)
        grown = {} if self.before is None else {row[0]: Grown(*row) for row in now.grown(self.before)}
        search = _Search(walk, locator, lengths, grown, contents=contents)
        for one in search.candidates():
            self._meet(search, one, taken)
        found = list(self._known(now, search))
        self.before = now
        return found

    def _meet(self, search: _Search, one: Grown, taken: set[str]) -> None:
        key = search.key(one.group)
        if key in self._tracked:
            self._tracked[key].exclusive = search.exclusive(one)
            self._name_anew(search, one, self._tracked[key], taken)
            return
        path = search.path(one)
        if path is None:
            return
        while path.text in taken:
            path = path._replace(ordinal=path.ordinal + 1)
        taken.add(path.text)
        by_bytes = one.added <= 0
        self._tracked[key] = Tracked(
            path,
            search.type_of(one.group),
            by_bytes,
            None if by_bytes else search.exclusive(one),
            search.types(one),
            search.samples(one),
            None if by_bytes else one.objects_before,
            None if by_bytes else search.bound(one.group),
            Counter() if by_bytes else search.holders(one.group),
        )

    @staticmethod
    def _name_anew(search: _Search, one: Grown, tracked: Tracked, taken: set[str]) -> None:
        """Name the chain that grew since the census before, where there are several."""
        if len(tracked.holders) > 1:
            path = search.path_of_grown(one, tracked.holders)
            if path is not None and path.text not in taken:
                tracked.path = path
        tracked.holders = Counter()

    def _known(self, now: Any, search: _Search) -> Iterator[tuple[int, dict[str, Any]]]:
        for key, tracked in self._tracked.items():
            found = now.find(key)
            if found is None:
                continue
            group, count, size = found
            length = search.payload(group, count, size) if tracked.by_bytes else count
            grown = None if tracked.length is None else length - tracked.length
            tracked.length = length
            if tracked.bound is not None and grown:
                tracked.bound = search.bound(group)
            yield grown or 0, _row(tracked, length, size, grown)


class _Search:
    """Finds out which groups stand for the growth of one census, and how they are reached."""

    def __init__(
        self,
        walk: NativeWalk,
        locator: Locator,
        lengths: Lengths,
        grown: dict[int, Grown],
        *,
        contents: bool,
    ) -> None:
        self._contents = contents
        self._walk = walk
        self._locator = locator
        self._lengths = lengths
        self._holders = Holders(walk, lengths)
        self._grown = grown
        self._by_bytes = types_by_bytes()
        self._with_more_below = {self._group(one.group)[1] for one in grown.values() if one.added > 0}
        self._located: dict[int, Located | None] = {}
        self._chosen: dict[int, list[int]] = {}

    def key(self, group: int) -> int:
        """A group's number in every walk."""
        found: int = self._group(group)[0]
        return found

    def type_of(self, group: int) -> str:
        """Short name of the type of a group's members."""
        return type_name(self._group(group)[2])

    def candidates(self) -> list[Grown]:
        """Groups that grew, the largest growth first, without those that others explain."""
        fresh = [one for one in self._grown.values() if self._stands(one)]
        fresh.sort(key=lambda one: (-one.added, -one.bytes_added, self.key(one.group)))
        return [one for one in fresh[: 4 * NAMED] if not self._is_explained(one)][:NAMED]

    def path(self, one: Grown) -> Path | None:
        """The way to the group's outermost member, or None when it is the harness's, or has moved."""
        way = self._walk.table.way(self._outermost(one.group))
        where = self._locate(way)
        if where is None:
            return self._lost(way, one)
        found = self._found(one.group)
        own = bool(found) and all(is_own_code(member.item) for member in found)
        return None if own or self._is_ours(where.path) else where.path._replace(general=True)

    def holders(self, group: int) -> Counter[int]:
        """Members below each object that their chains hang on."""
        return Chains(self._walk, group).holders

    def path_of_grown(self, one: Grown, before: Counter[int]) -> Path | None:
        """The way to the outermost member of the chain that grew most since a census, or None if none is known."""
        chains = Chains(self._walk, one.group)
        (holder, _), *_ = (chains.holders - before).most_common(1) or [(0, 0)]
        first = chains.first(holder) if holder in before else None
        where = None if first is None else self._locate(self._walk.table.way(first))
        return None if where is None or self._is_ours(where.path) else where.path._replace(general=True)

    def types(self, one: Grown) -> list[str]:
        """What members are, in words: a generator with the place where it stands."""
        shown = [shown_type(found.item) for found in self._found(one.group)]
        return list(dict.fromkeys(shown)) or [self.type_of(one.group)]

    def samples(self, one: Grown) -> list[str]:
        """What a few members look like."""
        found = self._found(one.group)[-NEWEST:]
        return [sample(member.item, contents=self._contents) for member in found]

    def bound(self, group: int) -> Bound | None:
        """The greatest number of members, where each entry of a container, or each object, holds at most one."""
        few = self._few(group)
        return one_an_entry(few) or one_an_owner(few, self._owners(group))

    def _owners(self, group: int) -> int:
        """Objects that the members of a group are found through, each its own, and which become no more; else 0."""
        table, parent = self._walk.table, self._group(group)[1]
        members = table.members(group, SAMPLES)
        above = {table.object(at)[2] for at in members}
        own, grown = self._grown.get(group), self._grown.get(parent)
        steady = own is None or grown is None or grown.added * IN_STEP < own.added
        if parent < _OWN_GROUPS or len(above) < len(members) or not steady:
            return 0
        same = all(at >= 0 and table.object(at)[4] == parent for at in above)
        return self._group(parent)[3] if same else 0

    def payload(self, group: int, count: int, size: int) -> int:
        """Bytes of a group of buffers: what they hold where all can be looked at, else with what is kept in reserve."""
        if self._group(group)[2] not in {array, frozenset}:
            return size
        held = [buffer_bytes(member.item) for member in self._few(group)]
        return sum(held) if len(held) == count else size

    def _outermost(self, group: int) -> int:
        """The member through which most of the members are reached, when they form chains; else the first.

        Members may also hang on a chain: then the first one on the chain that most of them hang on.
        """
        parent, first = self._group(group)[1], self._members(group)[0]
        at = self._common_top(group, group)
        if at is not None or parent < _OWN_GROUPS:
            return first if at is None else at
        top = self._common_top(group, parent)
        if top is None:
            return first
        members = self._walk.table.members(group, FARTHEST)
        return next((one for one in members if self._walk.table.object(one)[2] == top), first)

    def _common_top(self, group: int, above: int) -> int | None:
        """The outermost object of a group above most members of another, or None when each has its own."""
        found = Counter(self._top(at, above) for at in self._members(group))
        (at, times), *_ = found.most_common(1) or [(-1, 0)]
        return at if times > 1 else None

    def _top(self, at: int, group: int) -> int:
        """The outermost member of a group above an object of it."""
        top, steps = at, 0
        while at >= 0 and steps < FARTHEST:
            _, _, parent, _, own = self._walk.table.object(at)
            top = at if own == group else top
            at, steps = parent, steps + 1
        return top

    def exclusive(self, one: Grown) -> float | None:
        """Bytes that each member keeps alive beside its own, what it holds outside the heap included.

        From all references when the walk has recorded them: what could not be reached without the members.
        Otherwise what came into the groups below with each new member.
        """
        if one.added <= 0:
            return None
        if self._walk.edges:
            kept = self._walk.retained(one.group) - one.bytes_now
            return max(kept, 0) / max(one.objects, 1) + self._payload(one)
        below = sum(other.bytes_added for other in self._grown.values() if self._is_below(other.group, one.group))
        return max(below, 0) / one.added + self._payload(one)

    def _payload(self, one: Grown) -> float:
        """Mean bytes outside the heap, of members and of what was added right below them."""
        held = [payload_bytes(member.item) for member in self._found(one.group)]
        return sum(held) / len(held) if held else 0.0

    def _stands(self, one: Grown) -> bool:
        _, parent, cls, _, _, _ = self._group(one.group)
        if one.group < _OWN_GROUPS or cls is None or self._is_of_harness(cls):
            return False
        if one.added <= 0:
            longer = one.bytes_added > 0 and any(cls is known for known in self._by_bytes)
            return longer and not (cls in REPLACED and one.group in self._with_more_below)
        if one.added < FEWEST:
            return False
        above = self._grown.get(parent)
        return above is None or above.added * IN_STEP < one.added

    @staticmethod
    def _is_of_harness(kind: type) -> bool:
        return is_ours(type_module(kind))

    def _is_explained(self, one: Grown) -> bool:
        """Whether a container that grew in step leads to most of a few members, or such hold most of what came."""
        needed = one.added if one.added > 0 else 1
        members = self._members(one.group)
        through = sum(self._passes(at, needed) for at in members)
        return 2 * through > len(members) or (one.added > 0 and 2 * self._holders.added(one.group, needed) > needed)

    def _passes(self, member: int, needed: int) -> bool:
        way = self._walk.table.way(member)
        where = self._locate(way)
        beside = [] if where is None else [id(one) for one in memoised_in(where.owners)]
        return any(self._lengths.all(address) * IN_STEP >= needed for address in [*way, *beside])

    def _is_below(self, group: int, above: int) -> bool:
        while group >= 0:
            group = self._group(group)[1]
            if group == above:
                return True
        return False

    def _members(self, group: int) -> list[int]:
        """A few members, of the new ones where these are known."""
        if group not in self._chosen:
            fresh = self._holders.fresh(group)
            self._chosen[group] = fresh[:: max(1, len(fresh) // SAMPLES)][:SAMPLES]
        return self._chosen[group]

    def _found(self, group: int) -> list[Located]:
        """A few members, of the new ones where these are known, that are still where they were."""
        return self._still(self._members(group))

    def _few(self, group: int) -> list[Located]:
        """A few of all members that are still where they were."""
        return self._still(self._walk.table.members(group, SAMPLES))

    def _still(self, members: list[int]) -> list[Located]:
        ways = (self._walk.table.way(at) for at in members)
        return [where for way in ways if (where := self._locate(way)) is not None]

    def _locate(self, way: list[int]) -> Located | None:
        last = way[-1]
        if last not in self._located:
            try:
                self._located[last] = self._locator.by_chain(way)
            except RuntimeError:  # a container on the way is being changed
                self._located[last] = None
        return self._located[last]

    def _lost(self, way: list[int], one: Grown) -> Path | None:
        """What no root reaches has no name but its type. Frames are those of running threads, the census's too."""
        cls = self._group(one.group)[2]
        if self._locator.knows(way[0]) or cls is FrameType:
            return None
        return Path(f"<no root: {type_name(cls)}>", "", (Rung(None, type_name(cls), type_module(cls)),))

    @staticmethod
    def _is_ours(path: Path) -> bool:
        return is_ours(owner_module(path))

    def _group(self, group: int) -> tuple[int, int, Any, int, int, int]:
        found: tuple[int, int, Any, int, int, int] = self._walk.table.group(group)
        return found


def _row(tracked: Tracked, length: int, size: int, grown: int | None) -> dict[str, Any]:
    return {
        "path": tracked.path.text,
        "template": tracked.path.template,
        "fingerprint": tracked.path.fingerprint,
        "type": tracked.type,
        "length": length,
        "grown": grown,
        "shallow_bytes": size,
        "exclusive_per_entry": tracked.exclusive,
        "bound": None if tracked.bound is None else tracked.bound.length,
        "bound_reason": "" if tracked.bound is None else tracked.bound.reason,
        "limit": None,
        "limit_name": "",
        "weak": "",
        "steps": tracked.path.steps,
        "entry_types": tracked.entry_types,
        "samples": tracked.samples,
    }
