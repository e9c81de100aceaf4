# SPDX-License-Identifier: Apache-2.0
"""One census after another: which containers grew, at which path, and what an entry costs."""

from __future__ import annotations

import contextlib
import time
from copy import deepcopy
from typing import TYPE_CHECKING, Any

from vllm_soak.heap.holders import Holders
from vllm_soak.heap.kinds import container_base, kind_of, length
from vllm_soak.heap.living import Living
from vllm_soak.heap.locate import Locator
from vllm_soak.heap.naming import Naming
from vllm_soak.heap.native import NativeWalk
from vllm_soak.heap.own import own_entries
from vllm_soak.heap.pace import WHOLE, Pace, Turns
from vllm_soak.heap.populations import Populations
from vllm_soak.heap.roots import all_roots, frame_roots, module_roots
from vllm_soak.heap.search import Search
from vllm_soak.heap.walker import walk_heap

if TYPE_CHECKING:
    from vllm_soak.heap.series import Series
    from vllm_soak.heap.walker import AnySnapshot, AnyWalk, Walked


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
            pace: How long the walk may hold the interpreter at once, and how much of the time all of it may take.
            retained: Measure what a population keeps alive from all references, not from what grew beside it;
                costs a third more time and memory, and needs a native walk in one piece.
            contents: Show numbers and the beginning of texts among the samples of new entries.
        """
        started = time.monotonic()
        if baseline:
            self._before, self._series, self._left = None, {}, set()
            self._populations.forget()
        turns = Turns(pace)
        roots = all_roots()
        turns.between()
        hidden = (self, self.__dict__, self._series, self._populations, self._left, self._hidden, *self._hidden)
        walked = walk_heap(roots, hidden, pace, retained=retained, expected=self._objects)
        try:
            return self._answer(walked, Locator(roots), pace, started, contents=contents)
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

    def _answer(
        self, walked: Walked, locator: Locator, pace: Pace, started: float, *, contents: bool
    ) -> dict[str, Any]:
        walk, turns = walked.walk, Turns(pace)
        self._objects = walk.objects
        naming = Naming(walk, walked.snapshot, locator, self._series, turns, contents=contents)
        if isinstance(walk, NativeWalk):
            self._populations.count(walk, turns)
        living = Living(walk, self._populations.now, self._populations.before)
        rows, cut = naming.rows(self._before, living, self._left)
        self._left = naming.left
        if isinstance(walk, NativeWalk):
            holders = Holders(walk, walked.snapshot, self._before, naming.explained)
            turns.work_aside()
            search = Search(walk, locator, holders, turns, contents=contents)
            rows += self._populations.rows(search, {row["path"] for row in rows})
        walked.snapshot.settle()
        self._before = walked.snapshot
        return {
            "objects": walk.objects,
            "containers": walk.containers,
            "seconds": time.monotonic() - started,
            "walker": walked.name,
            "partial": "; ".join(filter(None, [walk.partial, _unrooted(walk), cut])),
            "populations": rows,
        }


def _unrooted(walk: AnyWalk) -> str:
    """Why a walk did not look at what no root reaches, or an empty string."""
    if not isinstance(walk, NativeWalk):
        return ""  # it sees containers only, and by name: said with every verdict
    if not walk.rings:
        return "the collector's lists are not where they are expected, so what no root reaches was not seen"
    if walk.table.counts["collecting"]:
        return "a collection was under way in another thread, so what no root reaches was not seen"
    return "what no root reaches is not seen in slices" if walk.pace.max_pause_ms > 0 else ""
