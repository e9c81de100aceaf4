# SPDX-License-Identifier: Apache-2.0
"""What is read from a real engine: its memory, its arrays, its caches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from vllm_soak.engines.mlx.observe import observe
from vllm_soak.engines.mlx.turns import chat


def test_figures_after_a_turn(make_engine: Callable[..., Any]) -> None:
    engine = make_engine("llama", use_memory_aware_cache=False)
    before = observe(engine.scheduler)
    chat(engine, turns=2, tokens=50)
    found = observe(engine.scheduler)
    assert (before["prefix_entries"], found["prefix_entries"]) == (0, 2)
    assert found["mlx_peak"] >= found["mlx_active"] > before["mlx_active"]
    assert found["kv_arrays"] >= 8  # keys and values of two layers in each entry
    assert found["array_bytes"] > before["array_bytes"]
