# SPDX-License-Identifier: Apache-2.0
"""Objects that pile up without any one container growing: chains, many small containers, what native code holds.

The native walk puts objects that are reached in the same way into one group. A group that grew stands for its
growth when the group above it did not grow in step, and no container that grew explains it.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from vllm_soak.heap import native
from vllm_soak.heap.search import Grown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from vllm_soak.heap.inspectors.bound import Bound
    from vllm_soak.heap.native import NativeWalk
    from vllm_soak.heap.pace import Turns
    from vllm_soak.heap.path import Path
    from vllm_soak.heap.search import Search


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
    """Compares the groups of each walk with those of the one before."""

    def __init__(self) -> None:
        self.before: Any = None
        self.now: Any = None
        self._tracked: dict[int, Tracked] = {}

    def forget(self) -> None:
        """Start anew."""
        self.before, self.now, self._tracked = None, None, {}

    def count(self, walk: NativeWalk, turns: Turns) -> None:
        """Count a walk's groups, without holding the interpreter."""
        turns.between()
        self.now = native.NATIVE.Tally(walk.table)
        turns.work_aside()

    def rows(self, search: Search, taken: set[str]) -> list[dict[str, Any]]:
        """Rows of groups that grew now or before, the largest growth in objects first; they must have been counted.

        Args:
            search: Looks along the ways of one walk.
            taken: Paths of other rows.
        """
        now = self.now
        grown = [] if self.before is None else [Grown(*row) for row in now.grown(self.before)]
        for one in search.candidates(grown):
            search.turns.between()
            self._meet(search, one, taken)
        found = sorted(self._known(now, search), key=lambda one: -one[0])
        self.before, self.now = now, None
        return [row for _, row in found]

    def _meet(self, search: Search, one: Grown, taken: set[str]) -> None:
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
    def _name_anew(search: Search, one: Grown, tracked: Tracked, taken: set[str]) -> None:
        """Name the chain that grew since the census before, where there are several."""
        if len(tracked.holders) > 1:
            path = search.path_of_grown(one, tracked.holders)
            if path is not None and path.text not in taken:
                tracked.path = path
        tracked.holders = Counter()

    def _known(self, now: Any, search: Search) -> Iterator[tuple[int, dict[str, Any]]]:
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
