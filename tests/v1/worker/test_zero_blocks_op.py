# SPDX-License-Identifier: Apache-2.0
"""`torch.ops.vllm_soak.zero_blocks` against `tensor[ids] = 0`, on every device there is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from vllm_soak.zeroing.device_pool import DevicePool
from vllm_soak.zeroing.failure import BlockIdError, LayoutError
from vllm_soak.zeroing.op import register
from vllm_soak.zeroing.segment import Segment, segments_of_tensor

WORKER = settings.get_profile("worker")
INT64 = torch.int64


@pytest.fixture
def op() -> Any:
    return register()


def column(segments: list[Segment], name: str, device: torch.device) -> torch.Tensor:
    return torch.tensor([getattr(segment, name) for segment in segments], dtype=INT64, device=device)


def equal(found: list[torch.Tensor], wanted: list[torch.Tensor]) -> bool:
    return all(torch.equal(one, other) for one, other in zip(found, wanted, strict=True))


@pytest.mark.parametrize("ids_on_device", [False, True])
def test_like_indexed_assignment(
    op: Any, device: torch.device, caches_on: Callable[..., Any], ids_on_device: bool
) -> None:
    @settings(WORKER)
    @given(case=caches_on(device))
    def check(case: Any) -> None:
        caches, blocks, ids = case
        wanted = caches.expected(ids)
        segments = [segment for view in caches.views for segment in segments_of_tensor(view)]
        pages = column(segments, "page_bytes", device)
        op(
            column(segments, "address", device),
            torch.tensor(ids, dtype=INT64, device=device if ids_on_device else "cpu"),
            int(pages.max()),
            blocks,
            column(segments, "stride", device),
            pages,
        )
        assert equal(caches.buffers, wanted)

    check()


def test_uniform_pages_need_no_more_than_addresses_ids_and_page_bytes(op: Any, device: torch.device) -> None:
    layers = [torch.ones(6, 32, dtype=INT64, device=device) for _ in range(3)]
    addresses = torch.tensor([layer.data_ptr() for layer in layers], dtype=torch.uint64, device=device)
    op(addresses, torch.tensor([4, 0, 4]), 256)
    for layer in layers:
        assert layer.sum(1).tolist() == [0, 32, 32, 32, 0, 32]


def test_more_ids_than_a_launch_takes_inline(op: Any, device: torch.device) -> None:
    layer = torch.ones(9000, 16, dtype=torch.int32, device=device)
    ids = torch.arange(0, 9000, 2)
    op(torch.tensor([layer.data_ptr()], device=device), ids, 64, 9000)
    assert layer.sum(1).tolist() == [0, 16] * 4500


def test_an_id_outside_of_the_pool_is_refused(op: Any, device: torch.device) -> None:
    layer = torch.ones(4, 16, dtype=torch.int32, device=device)
    addresses = torch.tensor([layer.data_ptr()], device=device)
    with pytest.raises(BlockIdError, match="block id 4 at position 1 is outside of a pool of 4 blocks"):
        op(addresses, torch.tensor([0, 4]), 64, 4)
    with pytest.raises(BlockIdError, match="block id -1"):
        op(addresses, torch.tensor([-1]), 64)
    assert layer.min() == 1


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"ids": torch.tensor([0], dtype=torch.int32)}, "64-bit integers"),
        ({"ids": torch.tensor([0, 0, 1, 1])[::2]}, "contiguous"),
        ({"strides": torch.tensor([64, 64])}, "match the addresses"),
        ({"strides": torch.tensor([64], dtype=torch.int32)}, "64-bit integers"),
        ({"page": 6}, "whole 4-byte words"),
        ({"page": 0}, "whole 4-byte words"),
    ],
)
def test_wrong_arguments_are_refused(op: Any, change: dict[str, Any], said: str) -> None:
    layer = torch.ones(4, 16, dtype=torch.int32)
    given_ = {"ids": torch.tensor([0]), "page": 64, "strides": None, **change}
    with pytest.raises(LayoutError, match=said):
        op(torch.tensor([layer.data_ptr()]), given_["ids"], given_["page"], 4, given_["strides"])
    assert layer.min() == 1


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_a_graph_compiler_keeps_it(op: Any, device: torch.device, backend: str) -> None:
    layer = torch.ones(4, 16, dtype=torch.int32, device=device)
    addresses, ids = torch.tensor([layer.data_ptr()], device=device), torch.tensor([2], device=device)

    def step(x: torch.Tensor) -> torch.Tensor:
        op(addresses, ids, 64)
        return x + 1

    compiled = torch.compile(step, backend=backend, fullgraph=True)
    compiled(torch.zeros(1, device=device))
    layer.fill_(1)
    compiled(torch.zeros(1, device=device))
    assert layer.sum(1).tolist() == [16, 16, 0, 16]


@pytest.mark.parametrize("method", ["stores", "bulk"])
def test_both_kernels_like_indexed_assignment(gpu: torch.device, caches_on: Callable[..., Any], method: str) -> None:
    @settings(WORKER)
    @given(case=caches_on(gpu), on_device=st.booleans())
    def check(case: Any, on_device: bool) -> None:
        caches, blocks, ids = case
        wanted = caches.expected(ids)
        segments = [segment for view in caches.views for segment in segments_of_tensor(view)]
        addresses, strides, pages = (column(segments, name, gpu) for name in ("address", "stride", "page_bytes"))
        largest = int(pages.max())
        pool = DevicePool(addresses, largest, strides=strides, page_bytes=pages, num_blocks=blocks, method=method)
        if on_device:
            pool.zero_tensor(torch.tensor(ids, dtype=INT64, device=gpu))
        else:
            pool.zero(ids)
        assert equal(caches.buffers, wanted)

    check()


def test_inside_a_graph_on_a_stream_of_its_own(op: Any, gpu: torch.device) -> None:
    layer = torch.ones(64, 4096, dtype=torch.int32, device=gpu)
    addresses = torch.tensor([layer.data_ptr()], device=gpu)
    ids = torch.tensor([1, 2], device=gpu)
    op(addresses, ids, 16384)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        op(addresses, ids, 16384)
        op(addresses, torch.tensor([5]), 16384)  # by value: part of the graph
    layer.fill_(1)
    ids.copy_(torch.tensor([7, 8]))
    graph.replay()
    torch.cuda.synchronize()
    assert (layer.sum(1) == 0).nonzero().flatten().tolist() == [5, 7, 8]


def test_runs_on_the_current_stream(op: Any, gpu: torch.device) -> None:
    layer = torch.ones(8, 1 << 20, dtype=torch.int32, device=gpu)
    addresses = torch.tensor([layer.data_ptr()], device=gpu)
    torch.cuda.synchronize()
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        torch.cuda._sleep(50_000_000)
        layer.fill_(1)
        op(addresses, torch.tensor([0]), 4 << 20)
        late = layer[0].sum()
    side.synchronize()
    assert int(late) == 0
