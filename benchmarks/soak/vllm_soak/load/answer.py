# SPDX-License-Identifier: Apache-2.0
"""What became of one request, and what is read out of a server's answers."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, Literal

Outcome = Literal["completed", "failed", "aborted", "rejected"]
LONGEST_TEXT = 300


@dataclass(slots=True)
class Answer:
    """What became of one request.

    Args:
        outcome: Which of the four counts it belongs to.
        seconds: From its start to its end.
        kind: Kind of the failure.
        text: What was seen of the failure, cut to a line.
        first_token: Seconds to the first event of a stream, or None.
        gaps: Seconds between events of a stream.
        prompt_tokens: By the server's count; 0 where it gave none.
        output_tokens: By the server's count; else the events.
        reply: Text of the answer, for conversations.
    """

    outcome: Outcome = "completed"
    seconds: float = 0.0
    kind: str = ""
    text: str = ""
    first_token: float | None = None
    gaps: list[float] = field(default_factory=list)
    prompt_tokens: int = 0
    output_tokens: int = 0
    reply: str = ""

    def fail(self, kind: str, text: str) -> None:
        """Make it a failure."""
        self.outcome, self.kind, self.text = "failed", kind, one_line(text)


class BadAnswerError(Exception):
    """An answer that is not what the endpoint promises, in a word (its kind) and a text."""

    def __init__(self, kind: str, text: str) -> None:
        super().__init__(text)
        self.kind = kind


def one_line(text: str) -> str:
    """A text cut to one line."""
    flat = " ".join(text[: 2 * LONGEST_TEXT].split())
    return flat[:LONGEST_TEXT]


def parse(raw: bytes) -> dict[str, Any]:
    """A JSON object.

    Raises:
        BadAnswerError: It is none.
    """
    try:
        value = json.loads(raw)
    except ValueError as reason:
        raise BadAnswerError("bad-answer", f"not JSON: {raw[:LONGEST_TEXT].decode(errors='replace')}") from reason
    if not isinstance(value, dict):
        raise BadAnswerError("bad-answer", f"not an object: {raw[:LONGEST_TEXT].decode(errors='replace')}")
    return value


def read_whole(answer: Answer, raw: bytes) -> None:
    """Take usage and reply from an answer in one piece.

    Raises:
        BadAnswerError: It has no choices.
    """
    message = parse(raw)
    choices = message.get("choices")
    if not isinstance(choices, list) or not choices:
        raise BadAnswerError("bad-answer", f"no choices: {raw[:LONGEST_TEXT].decode(errors='replace')}")
    read_usage(answer, message)
    answer.reply = reply_of(choices[0], "message")


def read_usage(answer: Answer, message: dict[str, Any]) -> None:
    """Take the server's count of tokens, if it gave one."""
    usage = message.get("usage")
    if isinstance(usage, dict):
        answer.prompt_tokens = int(usage.get("prompt_tokens") or 0)
        answer.output_tokens = int(usage.get("completion_tokens") or 0)


def reply_of(choice: Any, key: str) -> str:
    """Text of a chat's choice; empty for one of completions."""
    if not isinstance(choice, dict) or not isinstance(choice.get(key), dict):
        return ""
    return str(choice[key].get("content") or "")


def first_choice(choice: Any) -> bool:
    """Whether a choice of a stream belongs to the first of several answers."""
    return isinstance(choice, dict) and choice.get("index", 0) == 0
