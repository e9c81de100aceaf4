# SPDX-License-Identifier: Apache-2.0
"""`hybrid-disk-tier` on the engine's real scheduler, with a hybrid model and with one of pure attention."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from vllm_soak.engines.mlx.observe import observe
from vllm_soak.engines.mlx.scheduler import prefix_cache
from vllm_soak.engines.mlx.turns import chat
from vllm_soak.patching.registry import HYBRID_DISK_TIER

CHAT: dict[str, Any] = {"turns": 3, "tokens": 150}
NOISE = 50_000  # bytes
# The entry-count cache keeps entries of any model; the other one has rules of its own for hybrid ones.
COUNTED = {"use_memory_aware_cache": False}
TIER = {"kv_disk_checkpoint_interval": 64}
NO_TIER = {"kv_disk_checkpoint_interval": 0}  # said, since 0.10.18 has it on by default


@pytest.fixture
def make(make_engine: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., Any]:
    """Makes engines whose checkpoints go to a folder of the test."""
    if importlib.util.find_spec("vllm_mlx.runtime") is None:
        pytest.skip("this engine has no disk-checkpoint tier")
    monkeypatch.setenv("HOME", str(tmp_path))
    return make_engine


def entries(engine: Any) -> int:
    return len(prefix_cache(engine.scheduler))


def test_patched_a_hybrid_model_with_the_tier_keeps_nothing_in_memory(
    make: Callable[..., Any], patch: Callable[[str], Any]
) -> None:
    released = make("qwen3_5", **COUNTED, **TIER)
    replies = chat(released, **CHAT)
    assert entries(released) == 3
    assert HYBRID_DISK_TIER.present(released.scheduler) is True
    assert patch("hybrid-disk-tier").status.value == "applied"
    engine = make("qwen3_5", **COUNTED, **TIER)
    baseline = observe(engine.scheduler)["mlx_active"]
    assert chat(engine, **CHAT) == replies
    assert entries(engine) == 0
    assert observe(engine.scheduler)["mlx_active"] == pytest.approx(baseline, abs=NOISE)
    assert HYBRID_DISK_TIER.present(engine.scheduler) is False


@pytest.mark.parametrize(("kind", "arguments"), [("qwen3_5", NO_TIER), ("llama", TIER), ("llama", NO_TIER)])
def test_without_the_tier_and_with_pure_attention_entries_stay(
    make: Callable[..., Any], patch: Callable[[str], Any], kind: str, arguments: dict[str, Any]
) -> None:
    patch("hybrid-disk-tier")
    engine = make(kind, **COUNTED, **arguments)
    chat(engine, **CHAT)
    assert entries(engine) == 3
