# SPDX-License-Identifier: Apache-2.0
"""What holds the members of a group: containers that grew explain its growth, and tell which members are new.

The entries of all instances of a class form one group. Where one instance's container grows and another's does not,
a few members say nothing of that, so that all of them are looked at here.
"""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

    from vllm_soak.heap.native import NativeWalk

# Members that are looked at; beyond that, so many of them evenly spread.
MOST = 20_000
# Entries in one round that make a container a suspect of its own in the end, however little of all growth they are.
ENTRIES = 3


class Lengths(NamedTuple):
    """Growth of the container at an address, in entries since the census before.

    Args:
        named: Of a container that has a row of its own, or is the harness's.
        all: Of any, and all entries of one that is new.
    """

    named: Callable[[int], int]
    all: Callable[[int], int]


class Holders:
    """The objects that members of groups hang on.

    Args:
        walk: A finished walk.
        lengths: What containers gained.
    """

    def __init__(self, walk: NativeWalk, lengths: Lengths) -> None:
        self._walk = walk
        self._lengths = lengths

    def fresh(self, group: int) -> list[int]:
        """Members that are new or hang on what grew, as far as containers tell; all where none does."""
        members: list[int] = self._walk.table.members(group, MOST)
        found = [at for at in members if self._is_fresh(at)]
        return found or members

    def added(self, group: int, needed: int) -> int:
        """Entries that containers with rows of their own gained, of those that hold members directly.

        Args:
            group: The group.
            needed: Members that it gained. What gained next to nothing of that does not count.
        """
        members: list[int] = self._walk.table.members(group, MOST)
        each = self._walk.table.group(group)[3] / max(len(members), 1)
        held = Counter(self._holder(at) for at in members)
        gained = {address: self._lengths.named(address) for address in held}
        least = min(ENTRIES, needed)
        return sum(min(grown, math.ceil(held[at] * each)) for at, grown in gained.items() if grown >= least)

    def _is_fresh(self, member: int) -> bool:
        address: int = self._walk.table.object(member)[0]
        return self._lengths.all(address) > 0 or self._lengths.all(self._holder(member)) > 0

    def _holder(self, member: int) -> int:
        """Address of the object that a member was found through, or 0."""
        parent: int = self._walk.table.object(member)[2]
        return self._walk.table.object(parent)[0] if parent >= 0 else 0
