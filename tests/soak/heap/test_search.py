# SPDX-License-Identifier: Apache-2.0
"""Which groups stand for growth: of instances of one class, those that grow."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import pytest

from vllm_soak.heap import native
from vllm_soak.heap.census import Census

if TYPE_CHECKING:
    from collections.abc import Callable


pytestmark = pytest.mark.skipif(native.NATIVE is None, reason="the native walk is not built on this machine")


ROUNDS, EACH = 3, 50


class Part:
    def __init__(self) -> None:
        self.extra: Any = None


class Pair:
    """Two caches of one class; only the second is added to, the first holds as much as that will."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self.idle, self.busy = make(), make()


class Box:
    def __init__(self) -> None:
        self.data: dict[int, list[int]] = {}

    def put(self, turn: int) -> None:
        self.data[turn] = [turn]


class Memo:
    def __init__(self) -> None:
        self.put = functools.lru_cache(maxsize=1000)(lambda turn: [turn])


class Slots:
    def __init__(self) -> None:
        self.parts = [Part() for _ in range(EACH * ROUNDS)]

    def put(self, turn: int) -> None:
        self.parts[turn].extra = [turn]


def paths_of_the_busy(make: Callable[[], Any]) -> set[str]:
    engine, census, found = Pair(make), Census(), set()
    for turn in range(EACH * ROUNDS):
        engine.idle.put(turn)
    census.take(baseline=True)
    for turn in range(ROUNDS):
        for at in range(EACH):
            engine.busy.put(turn * EACH + at)
        found |= {row["path"] for row in census.take()["populations"]}
    return {path for path in found if path.startswith("engine")}


@pytest.mark.parametrize(
    ("make", "path"),
    [(Box, "engine.busy.data"), (Memo, "engine.busy.put.<dict>"), (Slots, "engine.busy.parts[i].extra")],
)
def test_an_instance_that_does_not_grow_is_not_named(make: Callable[[], Any], path: str) -> None:
    assert paths_of_the_busy(make) == {path}
