# SPDX-License-Identifier: Apache-2.0
"""Freeing every kind of cache that the installed mlx-lm has."""

from __future__ import annotations

import copy
import gc
from collections.abc import Callable
from typing import Any

import mlx.core as mx
import pytest
from mlx_lm.models import cache as kinds

from vllm_soak.patches.vllm_mlx.cache_release import release

WORDS = 64
PLENTY = 200_000  # bytes, of the kind that takes least


def filled(cache: Any) -> Any:
    """The cache after some tokens of one layer with 2 heads of 64."""
    batch = 2 if type(cache).__name__.startswith("Batch") else 1
    keys = mx.random.normal((batch, 2, 2048, WORDS))
    if isinstance(cache, kinds.CacheList):
        for one in cache.caches:
            filled(one)
    elif isinstance(cache, kinds.ArraysCache):
        cache[0], cache[1] = keys, keys + 1
    else:
        cache.update_and_fetch(keys, keys + 1)
    return cache


def made() -> dict[str, Callable[[], Any]]:
    found: dict[str, Callable[[], Any]] = {
        "KVCache": kinds.KVCache,
        "RotatingKVCache": lambda: kinds.RotatingKVCache(max_size=4096),
        "QuantizedKVCache": kinds.QuantizedKVCache,
        "ChunkedKVCache": lambda: kinds.ChunkedKVCache(4096),
        "ArraysCache": lambda: kinds.ArraysCache(2),
        "BatchKVCache": lambda: kinds.BatchKVCache([0, 1]),
        "BatchRotatingKVCache": lambda: kinds.BatchRotatingKVCache(4096, [0, 1]),
        "CacheList": lambda: kinds.CacheList(kinds.KVCache(), kinds.KVCache()),
    }
    return {name: make for name, make in found.items() if hasattr(kinds, name)}


def evaluate_all() -> None:
    mx.eval([one for one in gc.get_objects() if type(one) is mx.array])


@pytest.mark.parametrize("kind", made())
def test_storage_is_freed_and_again_does_no_harm(kind: str) -> None:
    gc.collect()
    before = mx.get_active_memory()
    cache = filled(made()[kind]())
    evaluate_all()
    assert mx.get_active_memory() > before + PLENTY
    assert release(cache) is True
    gc.collect()
    assert mx.get_active_memory() < before + 1000
    assert release(cache) is True


@pytest.mark.parametrize("kind", [kind for kind in made() if not kind.startswith("Batch")])
def test_a_released_cache_is_as_one_just_made(kind: str) -> None:
    cache, other = filled(made()[kind]()), made()[kind]()
    release(cache)
    fields = {name: value for name, value in vars(cache).items() if name != "caches"}
    assert fields == {name: value for name, value in vars(other).items() if name != "caches"}
    filled(cache)  # and can be used


def test_lists_are_freed_each_and_what_is_unknown_is_left() -> None:
    stranger = {"keys": 1}
    caches = [filled(kinds.KVCache()), stranger, filled(kinds.ArraysCache(2))]
    assert release(caches) is False
    assert caches[0].keys is None
    assert caches[2].cache == [None, None]
    assert stranger == {"keys": 1}


def test_what_a_copy_holds_is_its_own() -> None:
    cache = filled(kinds.KVCache())
    twin = copy.copy(cache)
    release(cache)
    assert twin.keys is not None
