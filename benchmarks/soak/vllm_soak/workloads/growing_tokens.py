# SPDX-License-Identifier: Apache-2.0
"""Conversations of token ids that grow turn by turn, for engines in this process."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from vllm_soak.workloads.alphabet import alphabet_size, random_tokens


@dataclass
class Talk:
    """One conversation under way.

    Args:
        number: Names its tokens.
        history: Everything said so far, by both.
        turns: Replies so far.
    """

    number: int
    history: list[int] = field(default_factory=list)
    turns: int = 0


class GrowingTokens:
    """Each request is the next turn of a conversation: all that was said before, and `input_len` new tokens.

    As many conversations are open as requests are in flight.

    Args:
        turns: Requests of one conversation.
        input_len: New tokens of each turn.
        output_len: Tokens of each reply.
        vocab_size: Size of the model's vocabulary.
        seed: Tokens of different seeds differ.
    """

    name = "growing-chat"

    def __init__(self, *, turns: int, input_len: int, output_len: int, vocab_size: int, seed: int = 0) -> None:
        self.turns = turns
        self.input_len = input_len
        self.output_len = output_len
        self.seed = seed
        self._size = alphabet_size(vocab_size)
        self._waiting: deque[Talk] = deque()
        self._busy: dict[int, Talk] = {}
        self._begun = 0

    def prompt(self, index: int) -> list[int]:
        """Token ids of request `index`: the next turn of whichever conversation waits, or the first of a new one."""
        talk = self._waiting.popleft() if self._waiting else self._begin()
        self._busy[index] = talk
        talk.history += random_tokens(f"{self.seed}:{talk.number}:{talk.turns}", self.input_len, self._size)
        return list(talk.history)

    def answered(self, index: int, reply: list[int]) -> None:
        """Go on from the reply to request `index`, or end its conversation."""
        talk = self._busy.pop(index)
        talk.history += reply
        talk.turns += 1
        if talk.turns < self.turns:
            self._waiting.append(talk)

    def _begin(self) -> Talk:
        self._begun += 1
        return Talk(self._begun)
