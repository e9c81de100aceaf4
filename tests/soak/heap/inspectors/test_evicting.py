# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import functools
import gc
from typing import Any

import cachetools
import jinja2.utils
import pytest

from vllm_soak.heap.bounds import bound_of
from vllm_soak.heap.census import Census

SIZE = 64
# The parts of a cachetools cache that have one entry a cached item are found by growing them.
KINDS = [cachetools.Cache, cachetools.FIFOCache, cachetools.LRUCache, cachetools.LFUCache, cachetools.RRCache]


class Service:
    @functools.lru_cache(maxsize=SIZE)  # noqa: B019 - what is tested
    def method(self, key: int) -> int:
        return key

    @classmethod
    @functools.lru_cache(maxsize=SIZE)
    def of_class(cls, key: int) -> int:
        return key


@functools.lru_cache(maxsize=SIZE)
def limited(key: int) -> int:
    return key


@functools.lru_cache(maxsize=None)  # noqa: UP033 - what is tested
def unlimited(key: int) -> int:
    return key


@functools.cache
def cached(key: int) -> int:
    return key


limited.note = "its own namespace"  # type: ignore[attr-defined]


def entries(wrapper: Any) -> dict[Any, Any]:
    found = [one for one in gc.get_referents(wrapper) if type(one) is dict and one is not wrapper.__dict__]
    return found[0]


@pytest.mark.parametrize("wrapper", [limited, Service.__dict__["method"], Service.of_class.__func__])
def test_a_memoised_function_is_bounded_by_its_maxsize(wrapper: Any) -> None:
    found = bound_of(entries(wrapper), [wrapper])
    assert found is not None
    assert found.length == SIZE
    assert f"maxsize={SIZE}" in found.reason


@pytest.mark.parametrize("wrapper", [unlimited, cached])
def test_without_a_maxsize_it_is_not(wrapper: Any) -> None:
    wrapper(1)
    assert bound_of(entries(wrapper), [wrapper]) is None


def test_a_wrappers_own_attributes_are_not_its_cache() -> None:
    assert bound_of(limited.__dict__, [limited]) is None


@pytest.mark.parametrize("kind", KINDS)
def test_every_growing_part_of_a_cachetools_cache_is_bounded(kind: Any) -> None:
    cache = kind(maxsize=SIZE)
    census = Census()
    census.take(baseline=True)
    for key in range(20):
        cache[key] = object()
    rows = [row for row in census.take()["populations"] if row["path"].startswith("cache.") and row["grown"] >= 20]
    assert rows
    assert {row["bound"] for row in rows} == {SIZE}


def test_the_cache_of_templates_is_bounded() -> None:
    cache = jinja2.utils.LRUCache(SIZE)
    found = bound_of(cache._mapping, [cache])
    assert found is not None
    assert found.length == SIZE
    assert bound_of({}, [cache]) is None
