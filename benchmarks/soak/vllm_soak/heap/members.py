# SPDX-License-Identifier: Apache-2.0
"""A few members of each group: which of them are looked at, where they are, and which is the outermost."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from vllm_soak.heap.holders import Holders
    from vllm_soak.heap.locate import Located, Locator
    from vllm_soak.heap.native import NativeWalk
    from vllm_soak.heap.pace import Turns

# Members of a group that are looked at.
SAMPLES = 5
# Objects that are looked at above one, since a chain may be long.
FARTHEST = 20_000
# The first groups: what only the census reaches, and what no root reaches.
OWN_GROUPS = 2


class Members:
    """Finds members of the groups of one walk.

    Args:
        walk: A finished walk.
        locator: Finds objects from its roots.
        holders: What its containers gained.
        turns: The program's turns meanwhile.
    """

    def __init__(self, walk: NativeWalk, locator: Locator, holders: Holders, turns: Turns) -> None:
        self._table = walk.table
        self._locator = locator
        self._holders = holders
        self._turns = turns
        self._chosen: dict[int, list[int]] = {}

    def group(self, group: int) -> tuple[int, int, Any, int, int, int]:
        """Key, parent, type, objects, bytes and first object of a group."""
        found: tuple[int, int, Any, int, int, int] = self._table.group(group)
        return found

    def fresh(self, group: int) -> list[int]:
        """A few members, of the new ones where these are known."""
        if group not in self._chosen:
            self._chosen[group] = self._holders.fresh(group, SAMPLES)
            self._turns.work_aside()
        return self._chosen[group]

    def found(self, group: int) -> list[Located]:
        """A few members, of the new ones where these are known, that are still where they were."""
        return self._still(self.fresh(group))

    def few(self, group: int) -> list[Located]:
        """A few of all members that are still where they were."""
        return self._still(self._table.members(group, SAMPLES))

    def locate(self, way: list[int]) -> Located | None:
        """Anew each time: what is found is not to be held while the program goes on."""
        try:
            return self._locator.by_chain(way)
        except RuntimeError:  # a container on the way is being changed
            return None

    def is_rooted(self, way: list[int]) -> bool:
        """Whether a way begins at a root."""
        return self._locator.knows(way[0])

    def outermost(self, group: int) -> int:
        """The member through which most of the members are reached, when they form chains; else the first.

        Members may also hang on a chain: then the first one on the chain that most of them hang on.
        """
        parent, first = self.group(group)[1], self.fresh(group)[0]
        at = self._common_top(group, group)
        if at is not None or parent < OWN_GROUPS:
            return first if at is None else at
        top = self._common_top(group, parent)
        if top is None:
            return first
        members = self._table.members(group, FARTHEST)
        return next((one for one in members if self._table.object(one)[2] == top), first)

    def _common_top(self, group: int, above: int) -> int | None:
        """The outermost object of a group above most members of another, or None when each has its own."""
        found = Counter(self._table.top(at, above, FARTHEST) for at in self.fresh(group))
        (at, times), *_ = found.most_common(1) or [(-1, 0)]
        return at if times > 1 else None

    def _still(self, members: list[int]) -> list[Located]:
        ways = (self._table.way(at) for at in members)
        return [where for way in ways if (where := self.locate(way)) is not None]
