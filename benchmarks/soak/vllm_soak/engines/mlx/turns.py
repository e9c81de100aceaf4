# SPDX-License-Identifier: Apache-2.0
"""Conversations that grow turn by turn, in this process: each turn sends everything so far and some new tokens."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from vllm_soak.workloads.alphabet import random_tokens

# A step that does nothing happens; this many are a scheduler that never becomes idle.
MOST_STEPS = 100_000
LETTERS = 256


def drain(engine: Any) -> None:
    """Step until the engine is idle.

    Raises:
        RuntimeError: It never is.
    """
    for _ in range(MOST_STEPS):
        if not engine.busy():
            return
        engine.step()
    raise RuntimeError(f"the engine is not idle after {MOST_STEPS} steps")


def nothing() -> None:
    """Do nothing."""


def chat(
    engine: Any,
    *,
    turns: int,
    tokens: int,
    output_len: int = 8,
    conversations: int = 1,
    seed: int = 0,
    after: Callable[[], None] = nothing,
) -> list[list[int]]:
    """Hold conversations to their end.

    Args:
        engine: A driver's engine that keeps replies.
        turns: Requests of each conversation.
        tokens: New tokens of each turn.
        output_len: Tokens of each reply.
        conversations: Held at once, turn for turn.
        seed: Texts of different seeds differ.
        after: Called when the engine is idle after each turn.

    Returns:
        The replies, turn by turn, in each turn by conversation.
    """
    histories: list[list[int]] = [[] for _ in range(conversations)]
    replies = []
    for turn in range(turns):
        names = [f"{engine.steps}-{turn}-{number}" for number in range(conversations)]
        for number, name in enumerate(names):
            histories[number] += random_tokens(f"{seed}:{number}:{turn}", tokens, LETTERS)
            engine.submit(name, histories[number], output_len)
        drain(engine)
        for number, name in enumerate(names):
            replies.append(engine.reply(name))
            histories[number] += replies[-1]
        after()
    return replies
