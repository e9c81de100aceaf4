# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import math
from collections import deque
from typing import Any

import pytest

from vllm_soak.heap.bounds import bound_of


class BlockPool:
    def __init__(self, num_gpu_blocks: Any) -> None:
        self.num_gpu_blocks = num_gpu_blocks
        self.cached_block_hash_to_block = Map()
        self.kv_event_queue: list[int] = []


class Map:
    def __init__(self) -> None:
        self._cache: dict[int, int] = {}


class Manager:
    def __init__(self, pool: BlockPool) -> None:
        self.block_pool = pool
        self.req_to_blocks = {"request": [1, 2]}


class Cache:
    """As cachetools names its private attributes."""

    def __init__(self, maxsize: float) -> None:
        self._Cache__maxsize = maxsize
        self._Cache__data: dict[int, int] = {}
        self.other: dict[int, int] = {}


def test_a_deque_with_a_limit() -> None:
    found = bound_of(deque(maxlen=10), [])
    assert found is not None
    assert found.length == 10
    assert "maxlen=10" in found.reason


def test_what_has_no_limit_has_no_bound() -> None:
    assert bound_of(deque(), []) is None
    assert bound_of([], [object()]) is None


def test_the_prefix_caches_map_is_bounded_by_the_pool() -> None:
    pool = BlockPool(400)
    held = pool.cached_block_hash_to_block
    found = bound_of(held._cache, [pool, held])
    assert found is not None
    assert found.length == 400


def test_other_containers_of_the_pool_are_not_bounded() -> None:
    pool = BlockPool(400)
    assert bound_of(pool.kv_event_queue, [pool]) is None


@pytest.mark.parametrize("count", [None, "400", True])
def test_a_pool_that_does_not_know_its_size_bounds_nothing(count: Any) -> None:
    pool = BlockPool(count)
    assert bound_of(pool.cached_block_hash_to_block, [pool]) is None


def test_the_blocks_of_one_request_are_bounded_but_the_map_of_requests_is_not() -> None:
    manager = Manager(BlockPool(400))
    owners = [manager, manager.req_to_blocks]
    found = bound_of(manager.req_to_blocks["request"], owners)
    assert found is not None
    assert found.length == 400
    assert bound_of(manager.req_to_blocks, [manager]) is None


def test_a_sized_cache_bounds_its_own_entries_only() -> None:
    cache = Cache(64)
    found = bound_of(cache._Cache__data, [cache])
    assert found is not None
    assert found.length == 64
    assert bound_of(cache.other, [cache]) is None
    assert bound_of(Cache(math.inf)._Cache__data, [Cache(math.inf)]) is None
