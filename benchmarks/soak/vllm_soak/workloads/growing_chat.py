# SPDX-License-Identifier: Apache-2.0
"""Conversations that grow turn by turn: each request sends the whole history again, with the server's own replies."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from vllm_soak.workloads.text import random_text

BROKEN = "\ufffd"  # what a decoder shows for bytes that are no text


@dataclass
class Conversation:
    """One conversation under way.

    Args:
        number: Names its texts.
        messages: As sent to the server: alternately from user and assistant, after the system's.
        turns: Answers so far.
    """

    number: int
    messages: list[dict[str, str]] = field(default_factory=list)
    turns: int = 0


class GrowingChat:
    """Hands out the next turn of a waiting conversation, or begins a new one.

    A conversation is held while it is open only, so there are never more of them than requests in flight.

    Args:
        turns: Requests of one conversation.
        chars: Characters of each message of the user.
        system_chars: Characters of the system message that all conversations share; 0 for none.
        seed: Texts of different seeds differ.
    """

    def __init__(self, *, turns: int, chars: int, system_chars: int = 0, seed: int = 0) -> None:
        self.turns = turns
        self.chars = chars
        self.seed = seed
        self._system = random_text(f"{seed}:system", system_chars) if system_chars else ""
        self._waiting: deque[Conversation] = deque()
        self._begun = 0

    def take(self) -> Conversation:
        """The conversation whose turn it is, with the user's next message; it is busy until `answered`."""
        one = self._waiting.popleft() if self._waiting else self._begin()
        text = random_text(f"{self.seed}:{one.number}:{one.turns}", self.chars)
        one.messages.append({"role": "user", "content": text})
        return one

    def answered(self, one: Conversation, reply: str) -> None:
        """Add the server's reply; the conversation waits for its next turn, or is over and forgotten.

        A model with random weights writes broken characters, which become three tokens each when they are
        sent back; they are left out, so that a history does not outgrow the model.
        """
        one.messages.append({"role": "assistant", "content": reply.replace(BROKEN, "") or "."})
        one.turns += 1
        if one.turns < self.turns:
            self._waiting.append(one)

    def _begin(self) -> Conversation:
        self._begun += 1
        system = [{"role": "system", "content": self._system}] if self._system else []
        return Conversation(self._begun, system)
