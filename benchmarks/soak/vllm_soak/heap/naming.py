# SPDX-License-Identifier: Apache-2.0
"""Gives the containers of one walk that grew their paths and rows."""

from __future__ import annotations

from bisect import bisect_left, insort
from typing import TYPE_CHECKING, Any

from vllm_soak.heap.kinds import container_base, kind_of, length
from vllm_soak.heap.own import own_entries
from vllm_soak.heap.path import is_ours, owner_module
from vllm_soak.heap.series import Series

if TYPE_CHECKING:
    from collections.abc import Callable

    from vllm_soak.heap.living import Living
    from vllm_soak.heap.locate import Located, Locator
    from vllm_soak.heap.pace import Turns
    from vllm_soak.heap.path import Path
    from vllm_soak.heap.snapshot import Grower
    from vllm_soak.heap.walker import AnySnapshot, AnyWalk

ROWS = 200
# Entries are looked into for this many rows only: it costs up to 16,000 objects a row.
MEASURED = 24
# A container below more objects than this is a link of a chain: the chain is named, not the link.
DEEPEST = 64
# Containers without a row that are remembered until the next census: what grows again is named before what grew more.
REMEMBERED = 20_000


class Naming:
    """The containers of one walk by path.

    Args:
        walk: A finished walk.
        now: Its snapshot.
        locator: Finds objects from the walk's roots.
        series: Containers that were named before, by path; what is named joins them.
        turns: The program's turns meanwhile.
        contents: Show contents among the samples of new entries.

    Attributes:
        explained: Entries gained since the previous census, by address, of each container with a row of its own, or
            that is the harness's.
        left: Addresses of containers that grew and have no row.
    """

    def __init__(
        self,
        walk: AnyWalk,
        now: AnySnapshot,
        locator: Locator,
        series: dict[str, Series],
        turns: Turns,
        *,
        contents: bool,
    ) -> None:
        self._contents = contents
        self._walk = walk
        self._now = now
        self._locator = locator
        self._series = series
        self._turns = turns
        self._found: list[tuple[int, Series, Located]] = []
        self._growths: list[int] = []
        self._done: set[int] = set()
        self._moved = 0
        self._left = 0
        self._left_before: set[int] = set()
        self.left: set[int] = set()
        self.explained: dict[int, int] = {}

    def rows(self, before: AnySnapshot | None, living: Living, left: set[int]) -> tuple[list[dict[str, Any]], str]:
        """Rows, the largest growth first, and what was cut.

        Args:
            before: The walk before.
            living: Counts the objects of this walk by their classes.
            left: Containers that grew before that walk and had no row.
        """
        self._left_before = left
        for series in self._series.values():
            self._guarded(self._again, series)
        growers = self._growers(before)
        again = [one for one in growers if self._walk.address(one.container) in left]
        for grower in again[: ROWS // 2]:
            self._meet_once(grower)
        for grower in growers:
            self._meet_once(grower, unless_enough=True)
        self._found.sort(key=lambda one: (-one[1].times, -one[0]))
        self._keep_series()
        kept = sorted(self._found[:ROWS], key=lambda one: -one[0])
        self._found.clear()
        rows = [self._row(rank, *one, living) for rank, one in enumerate(kept)]
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

    def _growers(self, before: AnySnapshot | None) -> list[Grower]:
        self._turns.between()
        growers = [] if before is None else self._now.growers(before)
        self._turns.work_aside()
        return growers

    def _row(self, rank: int, growth: int, series: Series, where: Located, living: Living) -> dict[str, Any]:
        self._turns.between()
        series.count(where, growth, living)
        if rank < MEASURED:
            series.measure(where, growth, self._walk.exclusive, contents=self._contents)
        return series.row(where, growth)

    def _cut(self, left: int) -> str:
        """What is not among the rows, in words."""
        cut = [f"{left} containers that grew less than the {ROWS} listed were not named"] if left else []
        cut += [f"{self._moved} containers changed while they were being named"] if self._moved else []
        return "; ".join(cut)

    def _guarded(self, act: Callable[[Any], None], what: object) -> None:
        """Name one container; one that another thread is changing just now does not spoil the others."""
        self._turns.between()
        try:
            act(what)
        except RuntimeError:
            self._moved += 1

    def _is_enough(self, growth: int) -> bool:
        return len(self._growths) - bisect_left(self._growths, growth) >= ROWS

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
        growth = now - series.length
        self._done.add(id(where.item))
        series.times = series.times + 1 if growth > 0 else 0
        self.explained[id(where.item)] = growth
        self._found.append((growth, series, where))
        insort(self._growths, growth)
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
