# SPDX-License-Identifier: Apache-2.0
"""What a built engine is, in plain values for the report: `Arm.engine`."""

from __future__ import annotations

import gc
import os
from typing import Any

from vllm_soak.engines import vllm_compat


def engine_facts(driver: str, model: str, wanted_block_size: int, config: Any, scheduler: Any) -> dict[str, Any]:
    """Facts of one engine.

    Args:
        driver: `core` or `inproc`.
        model: The folder or id that the engine was given.
        wanted_block_size: What was asked for, in tokens; the engine may have raised it.
        config: Its `VllmConfig`.
        scheduler: Its scheduler, or None where that lives in another process.
    """
    name, version = vllm_compat.distribution()
    return {
        "name": name,
        "version": version,
        "python": vllm_compat.python_version(),
        "torch": str(vllm_compat.imported("torch", "__version__")),
        "driver": driver,
        "model": model,
        "device": "cpu" if vllm_compat.cpu_platform() else "gpu",
        "pid": os.getpid(),
        "block_size_wanted": wanted_block_size,
        "block_size": config.cache_config.block_size,
        "num_blocks": config.cache_config.num_gpu_blocks,
        "max_model_len": config.model_config.max_model_len,
        "max_num_seqs": config.scheduler_config.max_num_seqs,
        "max_num_batched_tokens": config.scheduler_config.max_num_batched_tokens,
        "prefix_caching": bool(config.cache_config.enable_prefix_caching),
        "vocab_size": config.model_config.get_vocab_size(),
        "gc_frozen": gc.get_freeze_count(),
        **scheduler_facts(scheduler),
    }


def scheduler_facts(scheduler: Any) -> dict[str, Any]:
    """Class, KV-cache groups and zeroing of a scheduler."""
    if scheduler is None:
        return {}
    groups = scheduler.kv_cache_config.kv_cache_groups
    return {
        "scheduler": type(scheduler).__name__,
        "needs_kv_cache_zeroing": bool(getattr(scheduler, "needs_kv_cache_zeroing", False)),
        "kv_cache_groups": [
            {
                "spec": type(group.kv_cache_spec).__name__,
                "layers": len(group.layer_names),
                "block_size": group.kv_cache_spec.block_size,
            }
            for group in groups
        ],
    }
