# SPDX-License-Identifier: Apache-2.0
"""Requests that a server must refuse with a 4xx, made by spoiling good ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Body = dict[str, Any]


def negative_length(body: Body) -> None:
    """Ask for fewer than no tokens."""
    body["max_tokens"] = -1


def negative_temperature(body: Body) -> None:
    """Ask for a temperature below zero."""
    body["temperature"] = -1.0


def wrong_type(body: Body) -> None:
    """Give a word where a number belongs: refused while the body is read, before the engine sees it."""
    body["max_tokens"] = "many"


def no_prompt(body: Body) -> None:
    """Leave the prompt out."""
    body.pop("prompt", None)
    body.pop("messages", None)


SPOILERS: tuple[Callable[[Body], None], ...] = (negative_length, negative_temperature, wrong_type, no_prompt)


def too_long(body: Body, max_model_len: int) -> None:
    """Ask for more tokens than the longest sequence holds."""
    body["max_tokens"] = max_model_len + 1


def spoil(body: Body, choice: float, max_model_len: int | None) -> None:
    """Make a good body bad, in place.

    Args:
        body: A request's fields.
        choice: Which way, evenly, by a number of [0, 1).
        max_model_len: Longest sequence of the model in tokens, or None when that is not known: then no request is
            too long.
    """
    ways = len(SPOILERS) + (max_model_len is not None)
    way = int(choice * ways)
    if way < len(SPOILERS):
        SPOILERS[way](body)
    elif max_model_len is not None:
        too_long(body, max_model_len)
