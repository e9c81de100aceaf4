# SPDX-License-Identifier: Apache-2.0
"""Ways to zero on the CPU, and their clock."""

from __future__ import annotations

import functools
import platform
import time
from pathlib import Path
from typing import Any

from zero_blocks.case import CEILING, LOOP, OURS, Call, Case

OTHER_BYTES = 128 << 20  # a multiple of any last-level cache that two cores share


def contestants(case: Case, threads: int) -> dict[str, Call]:
    """Ways to zero on the host."""
    from vllm_soak.zeroing.host_pool import HostPool
    from vllm_soak.zeroing.native import load
    from vllm_soak.zeroing.segment import segments_of_tensor

    pool = HostPool([part for layer in case.layers for part in segments_of_tensor(layer)], case.pool)
    memset, start = load("cpu").zero_blocks_cpu_memset, case.buffer.data_ptr()

    def loop() -> None:
        for layer in case.layers:
            for block in case.ids:
                layer[block].zero_()

    return {
        CEILING: lambda: memset(start, case.bytes, threads),
        OURS: lambda: pool.zero(case.ids, threads),
        LOOP: loop,
        "index_fill_": lambda: [layer.index_fill_(0, case.host_ids, 0) for layer in case.layers],
    }


def time_cold(call: Call, _: int) -> tuple[float, float]:
    """Seconds of one call, and of that the caller's; the caches hold other data, as after a step of a model."""
    _other_data().sum()
    return _timed(call)


def time_warm(call: Call, _: int) -> tuple[float, float]:
    """The same right after the same call, so that the caches hold what they can of its pages."""
    call()
    return _timed(call)


def _timed(call: Call) -> tuple[float, float]:
    started = time.perf_counter()
    call()
    seconds = time.perf_counter() - started
    return seconds, seconds


@functools.cache
def _other_data() -> Any:
    import torch

    return torch.ones(OTHER_BYTES // 4)


def processor() -> str:
    """The processor's name."""
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines() if Path("/proc/cpuinfo").exists() else []
    return next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), platform.machine())
