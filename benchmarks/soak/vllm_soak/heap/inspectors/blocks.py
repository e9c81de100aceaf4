# SPDX-License-Identifier: Apache-2.0
"""vLLM's own: what the number of KV blocks limits, and its windows of recent requests."""

from __future__ import annotations

from vllm_soak.heap.attributes import MISSING, mro, read, type_name
from vllm_soak.heap.inspectors.bound import Bound, holder, is_count

# Its window of recent requests; the second name is that of releases before 0.11.
_WINDOWS = ("max_recent_requests", "interval")


def prefix_cache(container: object, owners: list[object]) -> Bound | None:
    """The map of cached blocks in vLLM has at most one entry a KV block."""
    pool = _named(owners, "BlockPool")
    blocks = MISSING if pool is None else read(pool, "num_gpu_blocks")
    held = MISSING if pool is None else read(pool, "cached_block_hash_to_block")
    if type(blocks) is not int or not any(owner is held for owner in [*owners, container]):
        return None
    return Bound(blocks, f"the prefix cache's block map has at most one entry for each of the {blocks} KV blocks")


def blocks_of_a_request(_container: object, owners: list[object]) -> Bound | None:
    """The list of blocks that one request holds is at most the whole pool."""
    for owner in reversed(owners):
        pool, held = read(owner, "block_pool"), read(owner, "req_to_blocks")
        if pool is MISSING or not any(one is held for one in owners):
            continue
        blocks = read(pool, "num_gpu_blocks")
        if type(blocks) is int:
            return Bound(blocks, f"a request holds at most all {blocks} KV blocks")
    return None


def recent_requests(container: object, owners: list[object]) -> Bound | None:
    """The hit rate of the prefix cache is over the last so many requests."""
    owner = holder(owners)
    if not {"CachingMetrics", "PrefixCachingMetrics"} & set(map(type_name, mro(type(owner)))):
        return None
    limit = next((found for name in _WINDOWS if is_count(found := read(owner, name))), None)
    if limit is None or read(owner, "query_queue") is not container:
        return None
    return Bound(limit, f"{type_name(type(owner))} keeps the last {limit} requests")


def _named(owners: list[object], name: str) -> object | None:
    """The nearest owner whose class, or one of its bases, has a name."""
    return next((one for one in reversed(owners) if name in map(type_name, mro(type(one)))), None)
