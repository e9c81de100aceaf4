# SPDX-License-Identifier: Apache-2.0
"""The native library, and random pools in raw memory with guard bytes around every page."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import strategies as st

from vllm_soak.zeroing.native import load
from vllm_soak.zeroing.segment import Segment

WORD = 4
PATTERN = 0xA5
# Around every limit of the code: lines (64), vectors (16), words (4), and the chunk of 128 KiB.
PAGES = st.one_of(
    st.sampled_from([4, 16, 60, 64, 68, 128, 4096, 16384, 131072, 131072 + 64, 131072 * 2 + 20]),
    st.integers(1, 3000).map(lambda words: words * WORD),
)


@dataclass
class Allocation:
    """Host memory, full of a pattern, with some segments in it."""

    memory: np.ndarray
    segments: list[tuple[int, int, int]]  # offset, stride, page bytes

    def placed(self) -> list[Segment]:
        return [Segment(self.memory.ctypes.data + at, stride, page) for at, stride, page in self.segments]

    def expected(self, ids: list[int]) -> np.ndarray:
        """What `tensor[ids] = 0` leaves behind, by numpy's own slicing; all else must keep the pattern."""
        wanted = np.full_like(self.memory, PATTERN)
        for at, stride, page in self.segments:
            for block in ids:
                wanted[at + block * stride : at + block * stride + page] = 0
        return wanted


@dataclass
class Pool:
    """Several allocations that share block ids."""

    allocations: list[Allocation]
    num_blocks: int
    ids: list[int]

    def segments(self) -> list[Segment]:
        return [segment for allocation in self.allocations for segment in allocation.placed()]


def allocation(pages: list[int], guard: int, skew: int, num_blocks: int) -> Allocation:
    """Interleave one page of each segment per block, with `guard` bytes after each."""
    stride = sum(pages) + guard * len(pages)
    offsets = [skew + sum(pages[:at]) + guard * at for at in range(len(pages))]
    memory = np.full(skew + stride * num_blocks + 64, PATTERN, dtype=np.uint8)
    return Allocation(memory, [(at, stride, page) for at, page in zip(offsets, pages, strict=True)])


@st.composite
def random_pools(draw: st.DrawFn) -> Pool:
    num_blocks = draw(st.integers(1, 9))
    guards = st.integers(0, 24).map(lambda words: words * WORD)
    skews = st.integers(0, 20).map(lambda words: words * WORD)
    interleaved = st.lists(PAGES, min_size=1, max_size=3)
    made = [
        allocation(draw(interleaved), draw(guards), draw(skews), num_blocks) for _ in range(draw(st.integers(1, 3)))
    ]
    ids = draw(st.lists(st.integers(0, num_blocks - 1), max_size=12))
    return Pool(made, num_blocks, ids)


@pytest.fixture(scope="session")
def pools() -> st.SearchStrategy[Pool]:
    return random_pools()


@pytest.fixture
def make_allocation() -> Callable[..., Allocation]:
    return allocation


@pytest.fixture(scope="session")
def cpu_library() -> None:
    if shutil.which("cc") is None:
        pytest.skip("no C compiler, so the library is not built")
    load("cpu")


@pytest.fixture(scope="session")
def cuda_library() -> None:
    if shutil.which("nvcc") is None:
        pytest.skip("no CUDA toolkit, so the library is not built")
    load("cuda")
