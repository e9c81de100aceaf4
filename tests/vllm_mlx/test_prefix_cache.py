# SPDX-License-Identifier: Apache-2.0
"""`prefix-cache-bytes` on the engine's real scheduler and entry-count cache."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import mlx.core as mx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from vllm_soak.engines.mlx.observe import observe
from vllm_soak.engines.mlx.turns import chat
from vllm_soak.patches.vllm_mlx import prefix_ledger as ours
from vllm_soak.patching.registry import PREFIX_CACHE_BYTES

LIMIT_MB = 4
LIMIT = LIMIT_MB << 20
NOISE = 100_000  # bytes
CHAT: dict[str, Any] = {"turns": 8, "tokens": 500, "output_len": 4}
Engine = Any


@pytest.fixture
def counted(make_engine: Callable[..., Engine]) -> Callable[..., Engine]:
    """Makes an engine with the entry-count cache."""

    def make(**arguments: Any) -> Engine:
        return make_engine("llama", use_memory_aware_cache=False, **arguments)

    return make


def held(engine: Engine, baseline: float) -> float:
    return observe(engine.scheduler)["mlx_active"] - baseline


def test_as_released_the_limit_in_bytes_is_ignored(counted: Callable[..., Engine]) -> None:
    engine = counted(cache_memory_mb=LIMIT_MB)
    baseline = observe(engine.scheduler)["mlx_active"]
    chat(engine, **CHAT)
    assert held(engine, baseline) > 2 * LIMIT
    assert PREFIX_CACHE_BYTES.present(engine.scheduler) is True


def test_patched_it_is_obeyed_after_every_turn_and_hits_are_served(
    counted: Callable[..., Engine], patch: Callable[[str], Any]
) -> None:
    assert patch("prefix-cache-bytes").status.value == "applied"
    engine = counted(cache_memory_mb=LIMIT_MB)
    baseline = observe(engine.scheduler)["mlx_active"]
    held_after: list[float] = []

    def look() -> None:
        ledger = ours.ledger_of(engine.scheduler.prefix_cache)
        assert ledger is not None
        held_after.append(held(engine, baseline))
        assert held_after[-1] <= LIMIT + NOISE
        assert held_after[-1] == pytest.approx(ledger.total, abs=NOISE)  # what is accounted is what is resident

    chat(engine, after=look, **CHAT)
    assert max(held_after) > LIMIT / 2
    stats = engine.scheduler.prefix_cache.get_stats()
    assert stats["hits"] >= 5
    assert stats["evictions"] > 0
    assert stats["bytes"] <= stats["limit_bytes"] == LIMIT
    assert PREFIX_CACHE_BYTES.present(engine.scheduler) is False


def test_outputs_are_those_of_no_cache_at_all(counted: Callable[..., Engine], patch: Callable[[str], Any]) -> None:
    without = chat(counted(enable_prefix_cache=False), **CHAT)
    patch("prefix-cache-bytes")
    assert chat(counted(cache_memory_mb=LIMIT_MB), **CHAT) == without


def test_an_entry_larger_than_the_limit_is_not_stored(
    counted: Callable[..., Engine], patch: Callable[[str], Any]
) -> None:
    patch("prefix-cache-bytes")
    engine = counted(cache_memory_mb=1)
    baseline = observe(engine.scheduler)["mlx_active"]
    chat(engine, turns=1, tokens=3000)
    assert len(engine.scheduler.prefix_cache) == 0
    assert engine.scheduler.prefix_cache.get_stats()["too_large"] == 1
    assert held(engine, baseline) < NOISE


def test_a_cache_made_before_the_patch_goes_on_as_it_was(
    counted: Callable[..., Engine], patch: Callable[[str], Any]
) -> None:
    engine = counted(cache_memory_mb=LIMIT_MB)
    patch("prefix-cache-bytes")
    chat(engine, turns=2, tokens=100)
    assert len(engine.scheduler.prefix_cache) == 2
    assert "bytes" not in engine.scheduler.prefix_cache.get_stats()


ACTIONS = st.lists(
    st.tuples(st.sampled_from(["store", "fetch", "clear"]), st.lists(st.integers(0, 2), max_size=4), st.integers(1, 9)),
    max_size=40,
)


def test_the_ledger_is_the_content_whatever_happens(patch: Callable[[str], Any]) -> None:
    from vllm_mlx.prefix_cache import PrefixCacheManager

    patch("prefix-cache-bytes")

    @settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
    @given(actions=ACTIONS, limit=st.integers(0, 100), most=st.integers(1, 6))
    def check(actions: list[tuple[str, list[int], int]], limit: int, most: int) -> None:
        cache = PrefixCacheManager(SimpleNamespace(), max_entries=most)
        vars(cache)["_vllm_soak_ledger"] = ledger = ours.Ledger(4 * limit)
        for action, tokens, words in actions:
            if action == "store":
                shared = mx.zeros(words)
                cache.store_cache(tokens, [{"state": (shared, shared)}])
            elif action == "fetch":
                cache.fetch_cache(tokens)
            else:
                cache.clear()
            entries = list(ours.entries(cache._cache))
            assert ledger.total == sum(ours.resident_bytes(one) for one in entries) <= 4 * limit
            assert len(entries) == len(cache) <= most

    check()
