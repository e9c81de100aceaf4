# SPDX-License-Identifier: Apache-2.0
"""What a scheduler of vllm-mlx keeps, in numbers: speculative state, prefix cache, arrays by kind."""

from __future__ import annotations

import gc
import sys
from typing import Any

from vllm_soak.engines.mlx.scheduler import prefix_cache
from vllm_soak.patching.closure import freevar
from vllm_soak.sampling.mlx import arrays, mlx

MATRIX_STATE = 4  # dimensions of a recurrent layer's state, [batch, heads, value, key], as of a KV array


def observe(scheduler: Any, *, collect: bool = True) -> dict[str, float]:
    """Figures of an idle scheduler, with mlx's buffer cache as it is.

    Args:
        scheduler: The engine's.
        collect: Collect garbage first; a sample of the process must not, since it tells what that would free.
    """
    if collect:
        gc.collect()
    live = arrays()
    return {
        **mlx(),
        "arrays": float(len(live)),
        "array_bytes": float(sum(one.nbytes for one in live)),
        "kv_arrays": float(sum(one.ndim == MATRIX_STATE and str(one.dtype) == "mlx.core.bfloat16" for one in live)),
        "ssm_arrays": float(sum(one.ndim == MATRIX_STATE and str(one.dtype) == "mlx.core.float32" for one in live)),
        **speculative(scheduler),
        **cached(scheduler),
    }


def speculative(scheduler: Any) -> dict[str, float]:
    """`mtp_entries`: requests whose speculative state is kept; `mtp_...`: the engine's own counters.

    `mtp_attempts` and `mtp_accepts` are drafted tokens, and those of them that were right, of the whole process.
    """
    generator = getattr(scheduler, "batch_generator", None)
    state = freevar(getattr(getattr(generator, "_generation_batch", None), "_step", None), "_state")
    counters = getattr(generator, "_mtp_vendored_stats", None) or {}
    found = {f"mtp_{name}": float(value) for name, value in counters.items()} | drafts()
    return found | ({"mtp_entries": float(len(state))} if isinstance(state, dict) else {})


def drafts() -> dict[str, float]:
    """Drafted and accepted tokens so far; empty unless the engine counts them."""
    counting = sys.modules.get("vllm_mlx.spec_decode.mtp.accept_counter")
    if counting is None:
        return {}
    counted = counting.get_global_counter().snapshot()
    return {"mtp_attempts": float(counted.attempts), "mtp_accepts": float(counted.accepts)}


def cached(scheduler: Any) -> dict[str, float]:
    """`prefix_entries`, and `prefix_bytes` where the cache knows."""
    cache = prefix_cache(scheduler)
    if cache is None:
        return {}
    found = {"prefix_entries": float(len(cache))} if hasattr(cache, "__len__") else {}
    size = accounted(cache)
    return found | ({"prefix_bytes": size} if size is not None else {})


def accounted(cache: Any) -> float | None:
    """Bytes that a prefix cache says it holds: what it evicts by; statistics of the memory-aware one are rounded."""
    exact = getattr(cache, "_current_memory", None)
    if type(exact) is int:
        return float(exact)
    known = cache.get_stats() if hasattr(cache, "get_stats") else {}
    size = known.get("current_memory_bytes", known.get("bytes")) if isinstance(known, dict) else None
    return None if size is None else float(size)
