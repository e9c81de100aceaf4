# SPDX-License-Identifier: Apache-2.0
"""Devices that the op can be used on, and random KV caches on them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
import torch
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from vllm_soak.zeroing.support import why_not

settings.register_profile("worker", deadline=None, max_examples=60, suppress_health_check=list(HealthCheck))
FILL = 7


def usable(kind: str) -> torch.device:
    if kind == "cuda" and not torch.cuda.is_available():
        pytest.skip("no GPU on this machine")
    device = torch.device(kind, 0) if kind == "cuda" else torch.device(kind)
    if reason := why_not(device):
        pytest.skip(reason)
    return device


@pytest.fixture(params=["cpu", "cuda"])
def device(request: pytest.FixtureRequest) -> torch.device:
    return usable(request.param)


@pytest.fixture
def gpu() -> torch.device:
    return usable("cuda")


@dataclass
class Caches:
    """Caches of several layers, in one or more allocations with guard words around and between pages.

    Args:
        buffers: The allocations, every word of them `FILL`.
        views: `[blocks, ...]` views into them, one a layer.
    """

    buffers: list[torch.Tensor]
    views: list[torch.Tensor]

    def expected(self, ids: list[int]) -> list[torch.Tensor]:
        """The allocations after `view[ids] = 0` in torch, computed on copies."""
        copies = [buffer.clone() for buffer in self.buffers]
        where = {buffer.data_ptr(): at for at, buffer in enumerate(self.buffers)}
        for view in self.views:
            copy = copies[where[view.untyped_storage().data_ptr()]]
            torch.as_strided(copy, view.shape, view.stride(), view.storage_offset())[ids] = 0
        return copies


# Name of a layout, words of a page's innermost runs: whole lines and vectors, and odd ones.
LAYOUTS = ("dense", "halves apart", "layers interleaved")
RUNS = st.sampled_from([1, 3, 4, 16, 20, 64, 256, 1024, 4096, 4100])


def make(layout: str, blocks: int, run: int, guard: int, device: torch.device) -> Caches:
    if layout == "halves apart":  # [2, blocks, run]
        buffer = torch.full((guard + 2 * blocks * (run + guard),), FILL, dtype=torch.int32, device=device)
        view = buffer[guard:].view(2, blocks, run + guard)[:, :, :run].transpose(0, 1)
        return Caches([buffer], [view])
    layers = 2 if layout == "layers interleaved" else 1
    buffer = torch.full((guard + blocks * layers * (run + guard),), FILL, dtype=torch.int32, device=device)
    pages = buffer[guard:].view(blocks, layers, run + guard)[:, :, :run]
    return Caches([buffer], [pages[:, layer] for layer in range(layers)])


@st.composite
def random_caches(draw: st.DrawFn, device: torch.device) -> tuple[Caches, int, list[int]]:
    blocks = draw(st.integers(1, 12))
    caches = Caches([], [])
    for _ in range(draw(st.integers(1, 3))):
        made = make(draw(st.sampled_from(LAYOUTS)), blocks, draw(RUNS), draw(st.sampled_from([0, 1, 4, 16])), device)
        caches.buffers += made.buffers
        caches.views += made.views
    return caches, blocks, draw(st.lists(st.integers(0, blocks - 1), max_size=20))


@pytest.fixture
def caches_on() -> Callable[[torch.device], Any]:
    return random_caches
