# SPDX-License-Identifier: Apache-2.0
"""`kv-block-zeroer`, the CPU's half: `CPUModelRunner._zero_block_ids` in one native call.

Since 0.25, upstream zeroes block by block and layer by layer from Python. Which layers those are is
decided here in the same way; the call also covers pages that are not one run of memory. Releases before
that do not zero on the CPU, and go on not to.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from vllm_soak.patching.fingerprint import fingerprint, table
from vllm_soak.patching.patch import Target
from vllm_soak.zeroing.host_pool import HostPool
from vllm_soak.zeroing.route import Zero, say_at_work, zeroed
from vllm_soak.zeroing.segment import segments_of_tensor

# Upstream's loop over `kv[block_id].zero_()`.
_LOOP = "3be806eb86803be0"


def route(zero_block_ids: Callable[..., None]) -> Callable[..., None]:
    """Wrap `CPUModelRunner._zero_block_ids` to use the op, where that method zeroes at all."""
    zeroes = fingerprint(zero_block_ids) == _LOOP

    @functools.wraps(zero_block_ids)
    def routed(self: Any, block_ids: list[int]) -> None:
        if not (zeroes and block_ids and _zeroed(self, block_ids)):
            zero_block_ids(self, block_ids)

    return routed


def _zeroed(runner: Any, block_ids: Sequence[int]) -> bool:
    try:
        caches = _caches(runner)
        key = tuple((cache.data_ptr(), cache.shape, cache.stride()) for cache in caches)
    except Exception:  # noqa: BLE001 - an unforeseen runner; its own code knows
        return False
    return bool(caches) and zeroed(runner, block_ids, key, lambda: _zero_of(caches))


def _caches(runner: Any) -> list[Any]:
    """KV caches of the full-attention layers, each tensor once."""
    import torch
    from vllm.v1.kv_cache_interface import FullAttentionSpec

    found: dict[int, Any] = {}
    layers = runner.compilation_config.static_forward_context
    for group in runner.kv_cache_config.kv_cache_groups:
        if isinstance(group.kv_cache_spec, FullAttentionSpec):
            for name in group.layer_names:
                cache = getattr(layers.get(name), "kv_cache", None)
                if isinstance(cache, torch.Tensor):
                    found.setdefault(cache.data_ptr(), cache)
    return list(found.values())


def _zero_of(caches: Sequence[Any]) -> Zero:
    """A function that zeroes `cache[block]` for each block and cache.

    Raises:
        ZeroingError: The op cannot be used on these.
    """
    import torch

    segments = [segment for cache in caches for segment in segments_of_tensor(cache)]
    pool = HostPool(segments, min(cache.shape[0] for cache in caches))
    say_at_work("cpu", len(segments))
    return lambda block_ids: pool.zero(block_ids, torch.get_num_threads())


TARGETS = (
    Target(
        path="vllm.v1.worker.cpu_model_runner:CPUModelRunner._zero_block_ids",
        parameters=("self", "block_ids"),
        build=route,
        fingerprints=table(
            {
                "433cda01c0600c50": "0.17.1 0.18.0 0.18.1",  # the GPU runner's, inherited
                "b64f024f73362492": "0.19.0 0.19.1 0.20.0 0.20.1 0.20.2 0.21.0 0.22.0 0.22.1 0.23.0 0.24.0",
                _LOOP: "0.25.0 0.25.1 0.26.0 0.27.0 0.27.1 0.28.0 0.29.0 0.30.0 0.31.0 0.32.0",
            }
        ),
    ),
)
