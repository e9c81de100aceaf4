# SPDX-License-Identifier: Apache-2.0
"""Chains of the members of one group: which objects they hang on, and so which of several chains grows.

The nodes of all instances of a class are one group. Their addresses are not kept from one walk to the next, but what a
chain hangs on stays where it is, and the number of members below it tells which chain became longer.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from vllm_soak.heap.native import NativeWalk

# Members that are looked at; beyond that, so many of them evenly spread.
MOST = 20_000


class Chains:
    """The chains that a group's members form.

    Args:
        walk: A finished walk.
        group: The group.
    """

    def __init__(self, walk: NativeWalk, group: int) -> None:
        self._table = walk.table
        self._group = group
        self._tops: dict[int, int] = {}
        members: list[int] = self._table.members(group, MOST)
        self._members = [(at, self._top(at)) for at in members]

    @property
    def holders(self) -> Counter[int]:
        """Members by the address of the object that their chain hangs on; empty where none hangs on another."""
        if all(at == top for at, top in self._members):
            return Counter()
        return Counter(self._holder(top) for _, top in self._members)

    def first(self, holder: int) -> int | None:
        """The outermost member of the chain that hangs on the object at an address."""
        return next((top for _, top in self._members if self._holder(top) == holder), None)

    def _holder(self, top: int) -> int:
        parent: int = self._table.object(top)[2]
        address: int = self._table.object(parent)[0] if parent >= 0 else 0
        return address

    def _top(self, member: int) -> int:
        """The outermost member at or above one; what was passed on the way is remembered."""
        way, at = [], member
        while at >= 0 and at not in self._tops:
            way.append(at)
            at = self._table.object(at)[2]
        top = self._tops[at] if at >= 0 else -1
        for one in reversed(way):
            if top < 0 and self._table.object(one)[4] == self._group:
                top = one
            self._tops[one] = top
        return top
