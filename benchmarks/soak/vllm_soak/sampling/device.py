# SPDX-License-Identifier: Apache-2.0
"""Bytes that torch holds on the GPUs of this process."""

from __future__ import annotations

import sys


def device() -> dict[str, float]:
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
