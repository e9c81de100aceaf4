# SPDX-License-Identifier: Apache-2.0
"""Finds out which groups stand for the growth of one census, and how they are reached."""

from __future__ import annotations

from array import array
from collections import Counter
from types import FrameType
from typing import TYPE_CHECKING, NamedTuple

from vllm_soak.heap.attributes import type_module, type_name
from vllm_soak.heap.chains import Chains
from vllm_soak.heap.frames import shown_type
from vllm_soak.heap.inspectors.elements import one_an_entry, one_an_owner
from vllm_soak.heap.inspectors.evicting import memoised_in
from vllm_soak.heap.members import OWN_GROUPS, SAMPLES, Members
from vllm_soak.heap.own import is_own_code
from vllm_soak.heap.path import Path, Rung, is_ours, owner_module
from vllm_soak.heap.payload import REPLACED, buffer_bytes, payload_bytes, types_by_bytes
from vllm_soak.heap.samples import sample

if TYPE_CHECKING:
    from vllm_soak.heap.holders import Holders
    from vllm_soak.heap.inspectors.bound import Bound
    from vllm_soak.heap.locate import Located, Locator
    from vllm_soak.heap.native import NativeWalk
    from vllm_soak.heap.pace import Turns

# Groups are named for this many at most: each costs a search along its path.
NAMED = 24
# Members that are described.
NEWEST = 3
# A group or container explains growth below it when it grew by at least one part in this many.
IN_STEP = 8
# Fewer new objects than this in one round are what a lazy import or a log line leaves.
FEWEST = 3


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


class Search:
    """Looks along the ways to the members of groups.

    Args:
        walk: A finished walk.
        locator: Finds objects from its roots.
        holders: What its containers gained.
        turns: The program's turns meanwhile.
        contents: Show the contents of samples.
    """

    def __init__(
        self, walk: NativeWalk, locator: Locator, holders: Holders, turns: Turns, *, contents: bool = False
    ) -> None:
        self.walk = walk
        self.turns = turns
        self._contents = contents
        self._members = Members(walk, locator, holders, turns)
        self._holders = holders
        self._grown: dict[int, Grown] = {}
        self._gains: list[tuple[int, int]] = []
        self._with_more_below: set[int] = set()
        self._by_bytes = types_by_bytes()

    def key(self, group: int) -> int:
        """A group's number in every walk."""
        found: int = self._members.group(group)[0]
        return found

    def type_of(self, group: int) -> str:
        """Short name of the type of a group's members."""
        return type_name(self._members.group(group)[2])

    def candidates(self, grown: list[Grown]) -> list[Grown]:
        """Of the groups that grew those that others do not explain, the largest growth first."""
        self._grown = {one.group: one for one in grown}
        self._gains = [(one.group, one.bytes_added) for one in grown]
        self._with_more_below = {self._members.group(one.group)[1] for one in grown if one.added > 0}
        fresh = [one for one in grown if self._stands(one)]
        fresh.sort(key=lambda one: (-one.added, -one.bytes_added, self.key(one.group)))
        found: list[Grown] = []
        for one in fresh[: 4 * NAMED]:
            self.turns.between()
            if len(found) < NAMED and not self._is_explained(one):
                found.append(one)
        return found

    def path(self, one: Grown) -> Path | None:
        """The way to the group's outermost member, or None when it is the harness's, or has moved."""
        way = self.walk.table.way(self._members.outermost(one.group))
        where = self._members.locate(way)
        path = None if where is None else _path(where)
        if path is None:
            return self._lost(way, one)
        found = self._members.found(one.group)
        own = bool(found) and all(is_own_code(member.item) for member in found)
        return None if own or is_ours(owner_module(path)) else path._replace(general=True)

    def holders(self, group: int) -> Counter[int]:
        """Members below each object that their chains hang on."""
        return Chains(self.walk, group).holders

    def path_of_grown(self, one: Grown, before: Counter[int]) -> Path | None:
        """The way to the outermost member of the chain that grew most since a census, or None if none is known."""
        chains = Chains(self.walk, one.group)
        (holder, _), *_ = (chains.holders - before).most_common(1) or [(0, 0)]
        first = chains.first(holder) if holder in before else None
        where = None if first is None else self._members.locate(self.walk.table.way(first))
        path = None if where is None else _path(where)
        return None if path is None or is_ours(owner_module(path)) else path._replace(general=True)

    def types(self, one: Grown) -> list[str]:
        """What members are, in words: a generator with the place where it stands."""
        shown = [shown_type(found.item) for found in self._members.found(one.group)]
        return list(dict.fromkeys(shown)) or [self.type_of(one.group)]

    def samples(self, one: Grown) -> list[str]:
        """What a few members look like."""
        found = self._members.found(one.group)[-NEWEST:]
        return [sample(member.item, contents=self._contents) for member in found]

    def bound(self, group: int) -> Bound | None:
        """The greatest number of members, where each entry of a container, or each object, holds at most one."""
        few = self._members.few(group)
        if not all(_path(member) for member in few):
            return None
        return one_an_entry(few) or one_an_owner(few, self._owners(group))

    def _owners(self, group: int) -> int:
        """Objects that the members of a group are found through, each its own, and which become no more; else 0."""
        table, parent = self.walk.table, self._members.group(group)[1]
        members = table.members(group, SAMPLES)
        above = {table.object(at)[2] for at in members}
        own, grown = self._grown.get(group), self._grown.get(parent)
        steady = own is None or grown is None or grown.added * IN_STEP < own.added
        if parent < OWN_GROUPS or len(above) < len(members) or not steady:
            return 0
        same = all(at >= 0 and table.object(at)[4] == parent for at in above)
        return self._members.group(parent)[3] if same else 0

    def payload(self, group: int, count: int, size: int) -> int:
        """Bytes of a group of buffers: what they hold where all can be looked at, else with what is kept in reserve."""
        if self._members.group(group)[2] not in {array, frozenset}:
            return size
        held = [buffer_bytes(member.item) for member in self._members.few(group)]
        return sum(held) if len(held) == count else size

    def exclusive(self, one: Grown) -> float | None:
        """Bytes that each member keeps alive beside its own, what it holds outside the heap included.

        From all references when the walk has recorded them: what could not be reached without the members.
        Otherwise what came into the groups below with each new member.
        """
        if one.added <= 0:
            return None
        if self.walk.edges:
            kept = self.walk.retained(one.group) - one.bytes_now
            return max(kept, 0) / max(one.objects, 1) + self._payload(one)
        below = self.walk.below(one.group, self._gains)
        return max(below, 0) / one.added + self._payload(one)

    def _payload(self, one: Grown) -> float:
        """Mean bytes outside the heap, of members and of what was added right below them."""
        held = [payload_bytes(member.item) for member in self._members.found(one.group)]
        return sum(held) / len(held) if held else 0.0

    def _stands(self, one: Grown) -> bool:
        if one.group < OWN_GROUPS or 0 < one.added < FEWEST:
            return False
        _, parent, cls, _, _, _ = self._members.group(one.group)
        if one.added <= 0:
            is_longer = one.bytes_added > 0 and any(cls is known for known in self._by_bytes)
            return is_longer and not (cls in REPLACED and one.group in self._with_more_below)
        above = self._grown.get(parent)
        in_step = above is not None and above.added * IN_STEP >= one.added
        return not in_step and cls is not None and not is_ours(type_module(cls))

    def _is_explained(self, one: Grown) -> bool:
        """Whether a container that grew in step leads to most of a few members, or such hold most of what came."""
        needed = one.added if one.added > 0 else 1
        members = self._members.fresh(one.group)
        through = sum(self._passes(at, needed) for at in members)
        return 2 * through > len(members) or (one.added > 0 and 2 * self._holders.added(one.group, needed) > needed)

    def _passes(self, member: int, needed: int) -> bool:
        way = self.walk.table.way(member)
        where = self._members.locate(way)
        beside = [] if where is None else [id(one) for one in memoised_in(where.owners)]
        return any(self._holders.gained(address) * IN_STEP >= needed for address in [*way, *beside])

    def _lost(self, way: list[int], one: Grown) -> Path | None:
        """What no root reaches has no name but its type. Frames are those of running threads, the census's too."""
        cls = self._members.group(one.group)[2]
        if self._members.is_rooted(way) or cls is FrameType:
            return None
        return Path(f"<no root: {type_name(cls)}>", "", (Rung(None, type_name(cls), type_module(cls)),))


def _path(where: Located) -> Path | None:
    """The way to an object in words, or None while a container on it is being changed."""
    try:
        return where.path
    except RuntimeError:
        return None
