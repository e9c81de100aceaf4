# SPDX-License-Identifier: Apache-2.0
"""`singleton-cycle` on the engine's real scheduler, and on caches of mlx-lm that it binds methods to."""

from __future__ import annotations

import copy
import gc
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import mlx.core as mx
import pytest
from mlx_lm.models.cache import CacheList, KVCache

from vllm_soak.engines.mlx.turns import chat
from vllm_soak.patching.registry import SINGLETON_CYCLE
from vllm_soak.sampling.mlx import arrays

CHAT: dict[str, Any] = {"turns": 4, "tokens": 60}
MATRIX = 4  # dimensions of what a cache holds of a layer

fastpath: Any = pytest.importorskip("vllm_mlx.singleton_cache_fastpath", exc_type=ImportError)
if not SINGLETON_CYCLE.present(None):
    pytest.skip("this release binds weakly itself", allow_module_level=True)


@pytest.fixture
def no_collections() -> Iterator[None]:
    """What is freed here is freed at once."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.fixture
def patched(patch: Callable[[str], Any]) -> None:
    assert patch("singleton-cycle").status.value == "applied"


def filled() -> Any:
    cache = KVCache()
    fastpath._bind_singleton_surface(cache)
    cache.update_and_fetch(mx.zeros((1, 2, 8, 4)), mx.ones((1, 2, 8, 4)))
    return cache


def kept(make_engine: Callable[..., Any]) -> tuple[int, list[list[int]]]:
    """Arrays of layers that are there after a chat and before any collection, and its replies."""
    engine = make_engine("llama", enable_prefix_cache=False)
    chat(engine, turns=1, tokens=5)
    gc.collect()
    before = sum(one.ndim == MATRIX for one in arrays())
    replies = chat(engine, **CHAT)
    return sum(one.ndim == MATRIX for one in arrays()) - before, replies


@pytest.mark.usefixtures("no_collections")
def test_patched_caches_go_with_their_request_and_outputs_are_the_same(
    make_engine: Callable[..., Any], patch: Callable[[str], Any]
) -> None:
    released, replies = kept(make_engine)
    assert released >= 4 * 4  # keys and values of two layers at least, for each request
    assert SINGLETON_CYCLE.present(None) is True
    patch("singleton-cycle")
    assert kept(make_engine) == (0, replies)
    assert SINGLETON_CYCLE.present(None) is False


@pytest.mark.usefixtures("no_collections", "patched")
def test_caches_within_a_cache_are_freed_too() -> None:
    outer = CacheList(KVCache(), KVCache())
    fastpath._bind_singleton_surface(outer)
    assert all(one.filter([0]) is None for one in outer.caches)
    inner = [weakref.ref(one) for one in outer.caches]
    del outer
    assert [one() for one in inner] == [None, None]


@pytest.mark.usefixtures("patched")
def test_the_methods_do_what_upstreams_do() -> None:
    cache = filled()
    assert cache.filter([0]) is None
    assert cache.offset == 8
    with pytest.raises(IndexError):
        cache.filter([1])
    with pytest.raises(NotImplementedError):
        cache.extend(cache)
    taken = cache.extract(0)
    assert "filter" not in vars(taken)
    assert mx.array_equal(taken.keys, cache.keys[..., :8, :])
    cache.filter([])
    assert (cache.keys, cache.offset) == (None, 0)


@pytest.mark.usefixtures("patched")
def test_a_deep_copy_has_methods_of_its_own() -> None:
    cache = filled()
    twin = copy.deepcopy(cache)
    twin.filter([])
    assert (twin.keys, cache.offset) == (None, 8)


@pytest.mark.usefixtures("patched")
def test_a_method_whose_cache_is_gone_says_so() -> None:
    method = filled().filter
    with pytest.raises(ReferenceError, match="is gone"):
        method([0])
