# SPDX-License-Identifier: Apache-2.0
"""`batch-lists` on mlx-lm's own batch, inside the engine's real scheduler."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from vllm_soak.engines.mlx.turns import chat
from vllm_soak.patching.registry import BATCH_LISTS

CHAT: dict[str, Any] = {"turns": 4, "tokens": 40, "conversations": 3}


@pytest.fixture
def engine(make_engine: Callable[..., Any]) -> Any:
    return make_engine("llama", enable_prefix_cache=False)


def lengths(engine: Any) -> tuple[int, int]:
    batch = engine.scheduler.batch_generator._generation_batch
    return len(batch.samplers), len(batch.logits_processors)


def test_as_released_lists_grow_by_an_entry_a_request(engine: Any) -> None:
    chat(engine, **CHAT)
    assert max(lengths(engine)) == 12
    assert BATCH_LISTS.present(engine.scheduler) is True


def test_patched_lists_end_with_their_requests_and_outputs_are_the_same(
    engine: Any, make_engine: Callable[..., Any], patch: Callable[[str], Any]
) -> None:
    released = chat(engine, **CHAT)
    assert patch("batch-lists").status.value == "applied"
    patched = make_engine("llama", enable_prefix_cache=False)
    assert chat(patched, **CHAT) == released
    assert lengths(patched) == (0, 0)
    assert BATCH_LISTS.present(patched.scheduler) is False
