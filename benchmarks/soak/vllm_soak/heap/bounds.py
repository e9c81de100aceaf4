# SPDX-License-Identifier: Apache-2.0
"""Containers that are known to stop growing, each rule with its reason."""

from __future__ import annotations

import math
from collections import deque
from typing import TYPE_CHECKING, Any, NamedTuple

from vllm_soak.heap.attributes import MISSING, derives, mro, read, type_name

if TYPE_CHECKING:
    from collections.abc import Callable

# Private attributes of cachetools' caches that hold one entry a cached item.
_CACHE_PARTS = ("_Cache__data", "_Cache__size", "_LRUCache__order", "_LFUCache__counter", "_TTLCache__links")
_maxlen = deque.__dict__["maxlen"].__get__


class Bound(NamedTuple):
    """The greatest length that a container can have, and why."""

    length: int
    reason: str


def bound_of(container: object, owners: list[object]) -> Bound | None:
    """The first rule's answer.

    Args:
        container: The container.
        owners: Objects on the way to it, from the root down.
    """
    answers = (rule(container, owners) for rule in RULES)
    return next((answer for answer in answers if answer is not None), None)


def bounded_deque(container: object, _owners: list[object]) -> Bound | None:
    """A deque made with `maxlen` drops its oldest entry."""
    limit = _maxlen(container) if derives(type(container), deque) else None
    return None if limit is None else Bound(limit, f"a deque with maxlen={limit} drops its oldest entry")


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


def sized_cache(container: object, owners: list[object]) -> Bound | None:
    """A cachetools cache evicts beyond `maxsize`, which counts entries or their summed sizes."""
    for owner in reversed(owners):
        limit = read(owner, "_Cache__maxsize")
        if limit is not MISSING and any(read(owner, name) is container for name in _CACHE_PARTS):
            return _evicting(owner, limit)
    return None


def _evicting(owner: object, limit: object) -> Bound | None:
    if not (type(limit) is int or (type(limit) is float and math.isfinite(limit))):
        return None
    return Bound(int(limit), f"{type_name(type(owner))} evicts beyond maxsize={int(limit)}")


RULES: tuple[Callable[[Any, list[object]], Bound | None], ...] = (
    bounded_deque,
    prefix_cache,
    blocks_of_a_request,
    sized_cache,
)


def _named(owners: list[object], name: str) -> object | None:
    """The nearest owner whose class, or one of its bases, has a name."""
    return next((one for one in reversed(owners) if name in map(type_name, mro(type(one)))), None)
