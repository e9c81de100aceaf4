# SPDX-License-Identifier: Apache-2.0
"""Whether the native op can be used in this process, and if not, why."""

from __future__ import annotations

from typing import Any

from vllm_soak.zeroing.failure import ZeroingError
from vllm_soak.zeroing.native import load, raise_for


def why_not(device: Any) -> str:
    """Why blocks on a torch device cannot be zeroed by the op; an empty string when they can."""
    try:
        if device.type == "cpu":
            load("cpu")
            return ""
        if device.type != "cuda":
            return f"there is no code for {device.type} devices"
        if _is_rocm():
            return "there is no code for AMD devices"
        raise_for(load("cuda").zero_blocks_cuda_prepare(device.index or 0), (), 0)
    except ZeroingError as error:
        return str(error)
    return ""


def _is_rocm() -> bool:
    import torch

    return torch.version.hip is not None
