# SPDX-License-Identifier: Apache-2.0
"""One size of call: the segments, the blocks to zero, and how much that is."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

Call = Callable[[], Any]
CEILING, OURS, LOOP = "memset", "zero_blocks", "python loop"


class Case:
    """Segments of one size in one buffer, and the ids to zero.

    Args:
        buffer: Bytes, on the device that is measured.
        blocks: Blocks to zero, out of a pool twice as large where that fits.
    """

    def __init__(self, buffer: Any, page: int, blocks: int, segments: int) -> None:
        import torch

        self.buffer, self.page, self.blocks, self.segments = buffer, page, blocks, segments
        self.bytes = page * blocks * segments
        self.pool = min(2 * blocks, buffer.numel() // (page * segments))
        self.ids = random.Random(blocks).sample(range(self.pool), blocks)  # noqa: S311 - a benchmark's ids
        self.host_ids = torch.tensor(self.ids)
        part = buffer[: page * self.pool * segments]
        self.layers = list(part.view(torch.int32).view(segments, self.pool, page // 4))

    def check(self, zero: Call) -> None:
        """Make sure that a contestant zeroes these blocks and no others."""
        for layer in self.layers:
            layer.fill_(1)
        zero()
        kept = sorted(set(range(self.pool)) - set(self.ids))
        for layer in (self.layers[0], self.layers[-1]):
            rows = layer.amax(1)
            assert int(rows[self.ids].amax()) == 0, "a block was left out"
            assert not kept or int(layer[kept].amin(1).amin()) == 1, "another block was touched"
