# SPDX-License-Identifier: Apache-2.0
"""How long each container was at a census, and which containers are longer at the next one."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from typing import TYPE_CHECKING, Any, NamedTuple

from vllm_soak.heap.column import Column

if TYPE_CHECKING:
    from collections.abc import Iterable

    from vllm_soak.heap.walk import Walk

_BUCKETS = 256


class Grower(NamedTuple):
    """A container that got longer.

    Args:
        container: Its position among the walk's containers.
        growth: Entries added since the previous census.
    """

    container: int
    growth: int


class Snapshot:
    """Address, length, type and owner of every container: 22 bytes each.

    In buckets by a hash of the address, each sorted: sorting all at once would make half a million Python
    integers, and their memory does not return to the system as soon as anything else sits between them.

    Args:
        walk: The walk that found them.
    """

    def __init__(self, walk: Walk) -> None:
        count = len(walk.positions)
        self._rank, self._starts = Column("I", capacity=count), array("I", [0])
        for members in _buckets(walk):
            for container in sorted(members, key=walk.address):
                self._rank.append(container)
            self._starts.append(len(self._rank))
        self.addresses = Column("Q", map(walk.address, self._rank), count)
        self.lengths = Column("Q", map(walk.lengths.__getitem__, self._rank), count)
        self.codes = Column("H", map(walk.codes.__getitem__, self._rank), count)
        self.owners = Column("Q", map(walk.owner, self._rank), count)

    def place(self, address: int) -> int:
        """Where an address stands, or -1."""
        bucket = _bucket(address)
        end = self._starts[bucket + 1]
        at = bisect_left(self.addresses.view, address, self._starts[bucket], end)
        return at if at < end and self.addresses[at] == address else -1

    def container(self, address: int) -> int:
        """Position among the walk's containers, or -1; only before `settle()`."""
        at = self.place(address)
        return self._rank[at] if at >= 0 else -1

    def settle(self) -> None:
        """Drop what only the census that made this needs."""
        self._rank = Column("I", capacity=1)

    def growers(self, before: Any) -> list[Grower]:
        """Containers longer than in an earlier snapshot, the largest growth first."""
        found, fresh = self._same_identity(before)
        found += self._same_owner(before, fresh)
        return sorted(found, key=lambda grower: -grower.growth)

    def _same_identity(self, before: Snapshot) -> tuple[list[Grower], array[int]]:
        """Growers by address and type, and the places whose address is new or taken by another type."""
        found, fresh = [], array("I")
        for at, address in enumerate(self.addresses):
            then = before.place(address)
            if not self._is_still(at, before, then):
                fresh.append(at)
            if then >= 0 and before.codes[then] == self.codes[at] and before.lengths[then] < self.lengths[at]:
                found.append(Grower(self._rank[at], self.lengths[at] - before.lengths[then]))
        return found, fresh

    def _is_still(self, at: int, other: Snapshot, there: int) -> bool:
        """Whether a container looks the same in another snapshot: an address alone may have been taken anew."""
        return there >= 0 and self.codes[at] == other.codes[there] and self.owners[at] == other.owners[there]

    def _same_owner(self, before: Snapshot, fresh: Iterable[int]) -> list[Grower]:
        """Containers that took the place of a shorter one: the only new and the only gone of an owner's type."""
        now = self.lone_places(fresh)
        gone = [at for at in before.under(now) if not before._is_still(at, self, self.place(before.addresses[at]))]
        pairs = [(now[slot], at) for slot, at in before.lone_places(gone).items()]
        return [
            Grower(self._rank[new], self.lengths[new] - before.lengths[old])
            for new, old in pairs
            if self.lengths[new] > before.lengths[old]
        ]

    def under(self, slots: dict[tuple[int, int], int]) -> list[int]:
        """Places whose owner and type are among the slots."""
        return [at for at, slot in enumerate(zip(self.owners, self.codes, strict=True)) if slot in slots]

    def lone_places(self, places: Iterable[int]) -> dict[tuple[int, int], int]:
        """Places by owner and type, where there is one place only."""
        found: dict[tuple[int, int], list[int]] = {}
        for at in places:
            if self.owners[at]:
                found.setdefault((self.owners[at], self.codes[at]), []).append(at)
        return {slot: ats[0] for slot, ats in found.items() if len(ats) == 1}


def _bucket(address: int) -> int:
    return (address >> 4 ^ address >> 13) % _BUCKETS


def _buckets(walk: Walk) -> list[array[int]]:
    """Positions of containers by bucket."""
    members = [array("I") for _ in range(_BUCKETS)]
    for container in range(len(walk.positions)):
        members[_bucket(walk.address(container))].append(container)
    return members
