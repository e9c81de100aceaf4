# SPDX-License-Identifier: Apache-2.0
"""What holds the members of a group: containers that grew explain its growth, and tell which members are new.

The entries of all instances of a class form one group. Where one instance's container grows and another's does not,
a few members say nothing of that, so that all of them are looked at, in native code.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from vllm_soak.heap.native import NativeWalk
    from vllm_soak.heap.walker import AnySnapshot

# Members that are looked at; beyond that, so many of them evenly spread.
MOST = 20_000
# Entries in one round that make a container a suspect of its own in the end, however little of all growth they are.
ENTRIES = 3


class Holders:
    """The objects that members of groups hang on.

    Args:
        walk: A finished walk.
        now: Its snapshot.
        before: The snapshot of the census before.
        named: Entries gained since then, by address, of each container with a row of its own, or that is the harness's.
    """

    def __init__(self, walk: NativeWalk, now: AnySnapshot, before: AnySnapshot | None, named: dict[int, int]) -> None:
        self._walk = walk
        self._now = now
        self._before = before
        self._named = named
        walk.mark(now, before, named)

    def gained(self, address: int) -> int:
        """Entries that a container gained since the previous census: all that it has, when it is new."""
        known = self._named.get(address)
        if known is not None or self._before is None:
            return known or 0
        container = self._now.container(address)
        is_new = container >= 0 and self._before.container(address) < 0
        return self._walk.length(container) if is_new else 0

    def fresh(self, group: int, few: int) -> list[int]:
        """A few members that are new or hang on what grew, as far as containers tell; of all where none does."""
        found: list[int] = self._walk.table.fresh(group, MOST, few)
        return found

    def added(self, group: int, needed: int) -> int:
        """Entries that containers with rows of their own gained, of those that hold members directly.

        Args:
            group: The group.
            needed: Members that it gained. What gained next to nothing of that does not count.
        """
        members = self._walk.table.group(group)[3]
        held: list[tuple[int, int]] = self._walk.table.held(group, MOST)
        least = min(ENTRIES, needed)
        pairs = [(count * _each(members), self._named.get(address, 0)) for address, count in held]
        return sum(min(grown, math.ceil(most)) for most, grown in pairs if grown >= least)


def _each(members: int) -> float:
    """How many members one that is looked at stands for."""
    step = members // MOST if members > MOST else 1
    looked_at = min(MOST, -(-members // step))
    return members / max(looked_at, 1)
