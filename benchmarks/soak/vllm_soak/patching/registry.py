# SPDX-License-Identifier: Apache-2.0
"""The patches of this package, each composed of the pieces that stand at the upstream paths."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from vllm_soak.patching.patch import Patch, Target

if TYPE_CHECKING:
    from collections.abc import Callable


def known(engine: str | None = None) -> tuple[Patch, ...]:
    """Every patch, or those of one engine (by import name)."""
    return tuple(patch for patch in PATCHES if engine in {None, patch.engine})


def by_name(name: str) -> Patch:
    """The patch of that name.

    Raises:
        KeyError: There is none.
    """
    return {patch.name: patch for patch in known()}[name]


# The pieces are imported only when an affected release asks for them.


def _new_block_ids_targets() -> tuple[Target, ...]:
    from vllm_soak.patches.vllm.v1.core import single_type_kv_cache_manager
    from vllm_soak.patches.vllm.v1.core.sched import scheduler

    return (*single_type_kv_cache_manager.TARGETS, *scheduler.TARGETS)


def _new_block_ids_fixed() -> bool:
    from vllm_soak.patches.vllm.v1.core import single_type_kv_cache_manager

    return single_type_kv_cache_manager.already_fixed()


def _new_block_ids_present(scheduler: Any) -> bool:
    from vllm_soak.patches.vllm.v1.core.sched.scheduler import holds_block_ids

    present: Callable[[Any], bool] = holds_block_ids
    return present(scheduler)


NEW_BLOCK_IDS = Patch(
    name="new-block-ids",
    summary="Ids of newly allocated KV blocks pile up for ever on models without Mamba layers",
    upstream="vLLM PR 44490, issue 44175",
    affected=">=0.17.1,<0.26.0",
    targets=_new_block_ids_targets,
    already_fixed=_new_block_ids_fixed,
    present=_new_block_ids_present,
    subject="a scheduler, after at least one step that allocated blocks",
)


def _kv_block_zeroer_targets() -> tuple[Target, ...]:
    from vllm_soak.patches.vllm.v1.worker import cpu_model_runner, utils

    utils.require_library()
    return (*utils.TARGETS, *cpu_model_runner.TARGETS)


def _kv_block_zeroer_present(zeroer: Any) -> bool:
    from vllm_soak.patches.vllm.v1.worker.utils import is_upstreams

    present: Callable[[Any], bool] = is_upstreams
    return present(zeroer)


KV_BLOCK_ZEROER = Patch(
    name="kv-block-zeroer",
    summary="New KV blocks of hybrid models are zeroed by a Triton kernel compiled at run time, or in a Python loop",
    upstream="none; an improvement, off by default",
    affected=">=0.17.1",
    targets=_kv_block_zeroer_targets,
    already_fixed=lambda: False,
    present=_kv_block_zeroer_present,
    subject="a KVBlockZeroer or a CPUModelRunner, after at least one step that zeroed blocks",
    default=False,
)


def _mtp_state_targets() -> tuple[Target, ...]:
    from vllm_soak.patches.vllm_mlx import scheduler

    return scheduler.TARGETS


def _mtp_state_fixed() -> bool:
    from vllm_soak.patches.vllm_mlx import scheduler

    return scheduler.already_fixed()


def _mtp_state_present(scheduler: Any) -> bool:
    from vllm_soak.patches.vllm_mlx.scheduler import keeps_departed

    present: Callable[[Any], bool] = keeps_departed
    return present(scheduler)


MTP_STATE = Patch(
    name="mtp-state",
    summary="Speculative state of finished requests is kept for ever, and with it their whole KV cache",
    upstream="rapid-mlx 0.13.2",
    affected=">=0.9.13,<0.13.2",
    targets=_mtp_state_targets,
    already_fixed=_mtp_state_fixed,
    present=_mtp_state_present,
    subject="an engine on mlx with an MTP head, idle again after at least one request",
    engine="vllm_mlx",
)


def _prefix_cache_bytes_targets() -> tuple[Target, ...]:
    from vllm_soak.patches.vllm_mlx import prefix_cache

    return prefix_cache.TARGETS


def _prefix_cache_bytes_present(scheduler: Any) -> bool:
    from vllm_soak.patches.vllm_mlx.prefix_cache import exceeds_limit

    present: Callable[[Any], bool] = exceeds_limit
    return present(scheduler)


PREFIX_CACHE_BYTES = Patch(
    name="prefix-cache-bytes",
    summary="The entry-count prefix cache ignores cache_memory_mb and keeps a hundred entries of any size",
    upstream="none",
    affected=">=0.2.3,<0.14",
    targets=_prefix_cache_bytes_targets,
    already_fixed=lambda: False,
    present=_prefix_cache_bytes_present,
    subject="an engine on mlx with the entry-count prefix cache, after some requests",
    engine="vllm_mlx",
)


def _batch_lists_targets() -> tuple[Target, ...]:
    from vllm_soak.patches.vllm_mlx import generation_batch

    return generation_batch.TARGETS


def _batch_lists_present(scheduler: Any) -> bool:
    from vllm_soak.patches.vllm_mlx.generation_batch import keeps_entries

    present: Callable[[Any], bool] = keeps_entries
    return present(scheduler)


BATCH_LISTS = Patch(
    name="batch-lists",
    summary="Each request leaves an entry behind in two lists of mlx-lm's generation batch",
    upstream="none; found by this project in mlx-lm 0.31.3",
    affected=">=0.4.0,<0.14",
    targets=_batch_lists_targets,
    already_fixed=lambda: False,
    present=_batch_lists_present,
    subject="an engine on mlx, idle again after at least one request",
    engine="vllm_mlx",
)


def _hybrid_disk_tier_targets() -> tuple[Target, ...]:
    from vllm_soak.patches.vllm_mlx import disk_tier

    return disk_tier.TARGETS


def _hybrid_disk_tier_present(scheduler: Any) -> bool:
    from vllm_soak.patches.vllm_mlx.disk_tier import keeps_in_memory

    present: Callable[[Any], bool] = keeps_in_memory
    return present(scheduler)


HYBRID_DISK_TIER = Patch(
    name="hybrid-disk-tier",
    summary="Caches of hybrid models are kept in memory although checkpoints of them are on disk",
    upstream="none",
    affected=">=0.9.13,<0.14",
    targets=_hybrid_disk_tier_targets,
    already_fixed=lambda: False,
    present=_hybrid_disk_tier_present,
    subject="an engine on mlx with a hybrid model and disk checkpoints, after some requests",
    engine="vllm_mlx",
)

PATCHES = (NEW_BLOCK_IDS, KV_BLOCK_ZEROER, MTP_STATE, PREFIX_CACHE_BYTES, HYBRID_DISK_TIER, BATCH_LISTS)
