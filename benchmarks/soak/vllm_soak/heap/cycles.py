# SPDX-License-Identifier: Apache-2.0
"""What the next full collection would free: the members of unreachable cycles, by type."""

from __future__ import annotations

from vllm_soak.heap import native
from vllm_soak.heap.native import NativeWalk
from vllm_soak.heap.roots import all_roots

MOST = 12


def cyclic_garbage(most: int = MOST) -> list[tuple[str, int]]:
    """Types of the objects in unreachable cycles with their number, the most numerous first; no collection is run.

    Empty where the native walk was not built, or where the collector's rings are not where they are expected.
    """
    if native.NATIVE is None:
        return []
    walk = NativeWalk(all_roots(), edges=True)
    try:
        walk.run()
        return walk.garbage().most_common(most)
    finally:
        walk.close()
