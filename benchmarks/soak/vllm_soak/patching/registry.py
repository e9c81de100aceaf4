# SPDX-License-Identifier: Apache-2.0
"""The patches of this package, each composed of the pieces that stand at the upstream paths."""

from __future__ import annotations

from importlib import import_module
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


def _targets(*modules: str) -> Callable[[], tuple[Target, ...]]:
    """The targets of modules below `vllm_soak.patches`, when asked for."""
    return lambda: tuple(target for module in modules for target in _piece(module, "TARGETS"))


def _check(module: str, name: str) -> Callable[..., bool]:
    """A check of a module below `vllm_soak.patches`, found when it is called."""

    def check(*subject: Any) -> bool:
        found: Callable[..., bool] = _piece(module, name)
        return found(*subject)

    return check


def _piece(module: str, name: str) -> Any:
    return getattr(import_module(f"vllm_soak.patches.{module}"), name)


NEW_BLOCK_IDS = Patch(
    name="new-block-ids",
    summary="Ids of newly allocated KV blocks pile up for ever on models without Mamba layers",
    upstream="vLLM PR 44490, issue 44175",
    affected=">=0.17.1,<0.26.0",
    targets=_targets("vllm.v1.core.single_type_kv_cache_manager", "vllm.v1.core.sched.scheduler"),
    already_fixed=_check("vllm.v1.core.single_type_kv_cache_manager", "already_fixed"),
    present=_check("vllm.v1.core.sched.scheduler", "holds_block_ids"),
    subject="a scheduler, after at least one step that allocated blocks",
)


def _kv_block_zeroer_targets() -> tuple[Target, ...]:
    from vllm_soak.patches.vllm.v1.worker import cpu_model_runner, utils

    utils.require_library()
    return (*utils.TARGETS, *cpu_model_runner.TARGETS)


KV_BLOCK_ZEROER = Patch(
    name="kv-block-zeroer",
    summary="New KV blocks of hybrid models are zeroed by a Triton kernel compiled at run time, or in a Python loop",
    upstream="none; an improvement, off by default",
    affected=">=0.17.1",
    targets=_kv_block_zeroer_targets,
    already_fixed=lambda: False,
    present=_check("vllm.v1.worker.utils", "is_upstreams"),
    subject="a KVBlockZeroer or a CPUModelRunner, after at least one step that zeroed blocks",
    default=False,
)


MTP_STATE = Patch(
    name="mtp-state",
    summary="Speculative state of finished requests is kept for ever, and with it their whole KV cache",
    upstream="rapid-mlx 0.13.2",
    affected=">=0.9.13,<0.13.2",
    targets=_targets("vllm_mlx.scheduler"),
    already_fixed=_check("vllm_mlx.scheduler", "already_fixed"),
    present=_check("vllm_mlx.scheduler", "keeps_departed"),
    subject="an engine on mlx with an MTP head, idle again after at least one request",
    engine="vllm_mlx",
)


PREFIX_CACHE_BYTES = Patch(
    name="prefix-cache-bytes",
    summary="The entry-count prefix cache ignores cache_memory_mb and keeps a hundred entries of any size",
    upstream="none",
    affected=">=0.2.3,<0.17",
    targets=_targets("vllm_mlx.prefix_cache"),
    already_fixed=lambda: False,
    present=_check("vllm_mlx.prefix_cache", "exceeds_limit"),
    subject="an engine on mlx with the entry-count prefix cache, after some requests",
    engine="vllm_mlx",
)


BATCH_LISTS = Patch(
    name="batch-lists",
    summary="Each request leaves an entry behind in two lists of mlx-lm's generation batch",
    upstream="none; found by this project in mlx-lm 0.31.3",
    affected=">=0.4.0,<0.17",
    targets=_targets("vllm_mlx.generation_batch"),
    already_fixed=lambda: False,
    present=_check("vllm_mlx.generation_batch", "keeps_entries"),
    subject="an engine on mlx, idle again after at least one request",
    engine="vllm_mlx",
)


HYBRID_DISK_TIER = Patch(
    name="hybrid-disk-tier",
    summary="Caches of hybrid models are kept in memory although checkpoints of them are on disk",
    upstream="none",
    affected=">=0.9.13,<0.17",
    targets=_targets("vllm_mlx.disk_tier"),
    already_fixed=lambda: False,
    present=_check("vllm_mlx.disk_tier", "keeps_in_memory"),
    subject="an engine on mlx with a hybrid model and disk checkpoints, after some requests",
    engine="vllm_mlx",
)


SINGLETON_CYCLE = Patch(
    name="singleton-cycle",
    summary="The cache of a request that ran alone refers to itself, and stays until garbage is collected",
    upstream="rapid-mlx 4108, in 0.15.6",
    affected=">=0.12.11,<0.15.6",
    targets=_targets("vllm_mlx.singleton_cache_fastpath"),
    already_fixed=lambda: False,
    present=_check("vllm_mlx.singleton_cache_fastpath", "makes_cycles"),
    subject="an engine on mlx",
    engine="vllm_mlx",
)


def _debug_arrays_targets() -> tuple[Target, ...]:
    from vllm_soak.patches.vllm_mlx.routes import health

    health.require_armed()
    return health.TARGETS


DEBUG_ARRAYS = Patch(
    name="debug-arrays",
    summary="The server does not tell what its memory is made of, nor who holds it",
    upstream="none; an addition, armed by VLLM_SOAK_DEBUG_ARRAYS",
    affected=">=0.2.7,<0.17",
    targets=_debug_arrays_targets,
    already_fixed=lambda: False,
    present=_check("vllm_mlx.routes.health", "lacks_addresses"),
    subject="the application of a server on mlx",
    engine="vllm_mlx",
)

PATCHES = (
    NEW_BLOCK_IDS,
    KV_BLOCK_ZEROER,
    MTP_STATE,
    PREFIX_CACHE_BYTES,
    HYBRID_DISK_TIER,
    BATCH_LISTS,
    SINGLETON_CYCLE,
    DEBUG_ARRAYS,
)
