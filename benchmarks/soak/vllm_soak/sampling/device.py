# SPDX-License-Identifier: Apache-2.0
"""Bytes that torch or mlx holds on the devices of this process, and what its engine's driver tells."""

from __future__ import annotations

import sys

from vllm_soak.sampling.mlx import mlx
from vllm_soak.sampling.source import engine


def device() -> dict[str, float]:
    """Values of torch, of mlx, and of the engine, each empty where there is none."""
    return {**torch(), **mlx(), **engine()}


def torch() -> dict[str, float]:
    """`torch_allocated` and `torch_reserved` over all devices, in bytes.

    Empty unless this process has imported torch and initialised CUDA itself: initialising it here would
    take hundreds of megabytes of device memory and could break a later fork.
    """
    cuda = getattr(sys.modules.get("torch"), "cuda", None)
    if cuda is None or not cuda.is_initialized():
        return {}
    devices = range(cuda.device_count())
    return {
        "torch_allocated": float(sum(cuda.memory_allocated(at) for at in devices)),
        "torch_reserved": float(sum(cuda.memory_reserved(at) for at in devices)),
    }
