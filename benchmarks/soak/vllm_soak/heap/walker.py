# SPDX-License-Identifier: Apache-2.0
"""The best walk that this installation has: native, or in Python."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from vllm_soak.heap import native
from vllm_soak.heap.idset import walker_name
from vllm_soak.heap.native import NativeSnapshot, NativeWalk
from vllm_soak.heap.snapshot import Snapshot
from vllm_soak.heap.walk import Walk

if TYPE_CHECKING:
    from vllm_soak.heap.pace import Pace
    from vllm_soak.heap.roots import Root


AnyWalk = Walk | NativeWalk
AnySnapshot = Snapshot | NativeSnapshot


class Walked(NamedTuple):
    """A finished walk.

    Args:
        walk: The walk; to be closed.
        snapshot: The lengths of its containers.
        name: What made it: `native`, `python+idset` or `python`.
    """

    walk: AnyWalk
    snapshot: AnySnapshot
    name: str


def walk_heap(
    roots: list[Root], hidden: tuple[object, ...], pace: Pace, *, retained: bool = False, expected: int = 0
) -> Walked:
    """Walk everything that the roots reach.

    Args:
        roots: Where to start.
        hidden: The caller's own objects, neither counted nor named.
        pace: How long the interpreter may be held at once; the walk in Python gives way by itself.
        retained: Record what populations keep alive; native walks in one piece only.
        expected: Objects that the walk before found.
    """
    if native.NATIVE is not None:
        found = NativeWalk(roots, hidden, pace, edges=retained, expected=expected)
        found.run()
        return Walked(found, NativeSnapshot(found), "native")
    walk = Walk(hidden=hidden, seconds=pace.seconds)
    walk.run(roots)
    return Walked(walk, Snapshot(walk), walker_name())
