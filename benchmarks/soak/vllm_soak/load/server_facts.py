# SPDX-License-Identifier: Apache-2.0
"""What the load must know of a server before it begins: the model's name, and how long its tokens are."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import aiohttp

from vllm_soak.errors import EngineError
from vllm_soak.load.exchange import open_session
from vllm_soak.load.order import StartOrder
from vllm_soak.workloads.text import random_text

# A prompt may be too short, but never too long for the model: a byte-level tokenizer has a token for each byte.
SAFE_CHARS_PER_TOKEN = 1.0
SAMPLE_CHARS = 2000
ASK_SECONDS = 30.0


@dataclass(frozen=True)
class ServerFacts:
    """What was given or found out.

    Args:
        model: Name that the server knows the model by.
        chars_per_token: Characters of our texts to one token.
    """

    model: str
    chars_per_token: float

    def as_json(self) -> dict[str, Any]:
        """As fields of `ready`."""
        client = f"aiohttp {aiohttp.__version__}"
        return {"pid": os.getpid(), "client": client, "model": self.model, "chars_per_token": self.chars_per_token}


async def ask_server(order: StartOrder) -> ServerFacts:
    """What was not given, from the server.

    Raises:
        EngineError: The model's name was not given, and the server does not tell it.
    """
    async with open_session(ASK_SECONDS) as session:
        model = order.model if order.model is not None else await _model(session, order.url)
        chars = order.chars_per_token
        if chars is None:
            text = any(part.endpoint == "chat" for part in order.mix.parts)
            chars = await _chars_per_token(session, order.url, model) if text else SAFE_CHARS_PER_TOKEN
    return ServerFacts(model, chars)


async def _model(session: aiohttp.ClientSession, url: str) -> str:
    try:
        async with session.get(f"{url}/v1/models") as response:
            return str((await response.json(content_type=None))["data"][0]["id"])
    except (aiohttp.ClientError, OSError, TimeoutError, ValueError, LookupError, TypeError) as reason:
        raise EngineError(
            f"the server at {url} does not tell the name of its model ({type(reason).__name__}: {reason})",
            "check the address and that the server runs, or give the name",
        ) from reason


async def _chars_per_token(session: aiohttp.ClientSession, url: str, model: str) -> float:
    """By the server's own tokenizer; the safe value where it has no such endpoint."""
    question = {"model": model, "prompt": random_text("tokens", SAMPLE_CHARS), "add_special_tokens": False}
    try:
        async with session.post(f"{url}/tokenize", json=question) as response:
            count = (await response.json(content_type=None))["count"]
            return max(SAFE_CHARS_PER_TOKEN, SAMPLE_CHARS / int(count))
    except (aiohttp.ClientError, OSError, TimeoutError, ValueError, LookupError, TypeError, ZeroDivisionError):
        return SAFE_CHARS_PER_TOKEN
