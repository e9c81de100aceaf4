# SPDX-License-Identifier: Apache-2.0
"""Ways to zero on a GPU, and their clock."""

from __future__ import annotations

import time
from typing import Any

from zero_blocks.case import CEILING, OURS, Call, Case

try:
    import triton
    import triton.language as tl
except ImportError:
    triton = None

SLEEP_CYCLES = 400_000  # the device waits a fraction of a millisecond, so that the host gets ahead of it


def contestants(case: Case, _: int) -> dict[str, Call]:
    """Ways to zero on a GPU."""
    import torch

    from vllm_soak.zeroing.device_pool import DevicePool
    from vllm_soak.zeroing.native import load

    device, stream = case.buffer.device, torch.cuda.current_stream().cuda_stream
    table = torch.tensor([layer.data_ptr() for layer in case.layers], device=device)
    pools = {how: DevicePool(table, case.page, num_blocks=case.pool, method=how) for how in ("auto", "stores", "bulk")}
    memset, start = load("cuda").zero_blocks_cuda_memset, case.buffer.data_ptr()
    ids = case.host_ids.to(device)
    found = {
        CEILING: lambda: memset(start, case.bytes, device.index, stream),
        OURS: lambda: pools["auto"].zero_tensor(case.host_ids),
        "by stores": lambda: pools["stores"].zero_tensor(case.host_ids),
        "by bulk": lambda: pools["bulk"].zero_tensor(case.host_ids),
        "index_fill_": lambda: [layer.index_fill_(0, ids, 0) for layer in case.layers],
    }
    return found if triton is None else found | {"triton": triton_call(case, table)}


if triton is not None:

    @triton.jit
    def zero_chunk(  # noqa: ANN201, D103 - compiled by Triton; one program for each chunk of a page
        table,  # noqa: ANN001
        ids,  # noqa: ANN001
        segments,  # noqa: ANN001
        chunks,  # noqa: ANN001
        WORDS: tl.constexpr,  # noqa: N803 - Triton's way
    ):
        unit = tl.program_id(0)
        block = tl.load(ids + unit // (segments * chunks))
        base = tl.load(table + unit // chunks % segments).to(tl.pointer_type(tl.int32))
        at = (block * chunks + unit % chunks) * WORDS
        tl.store(base + at + tl.arange(0, WORDS), tl.zeros([WORDS], tl.int32))


def triton_call(case: Case, table: Any) -> Call:
    """Upstream's algorithm: ids from pinned memory, programs of 4 KiB or less."""
    import torch

    words = min(case.page // 4 & -(case.page // 4), 1024)
    chunks = case.page // 4 // words
    pinned = case.host_ids.pin_memory()
    ids = torch.empty_like(pinned, device=table.device)

    def call() -> None:
        ids.copy_(pinned, non_blocking=True)
        zero_chunk[(case.blocks * case.segments * chunks,)](table, ids, case.segments, chunks, WORDS=words)

    return call


def time_on_device(call: Call, repeats: int) -> tuple[float, float]:
    """Seconds a call on the device, by events, and on the host; the queue is never empty between calls."""
    import torch

    before, after = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    torch.cuda._sleep(SLEEP_CYCLES)  # noqa: SLF001 - there is no public one
    before.record()
    started = time.perf_counter()
    for _ in range(repeats):
        call()
    host = (time.perf_counter() - started) / repeats
    after.record()
    after.synchronize()
    return before.elapsed_time(after) / 1000 / repeats, host
