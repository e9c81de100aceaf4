# SPDX-License-Identifier: Apache-2.0
"""From a request's index to what is sent: the part it belongs to, its body, and what shall become of it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from vllm_soak.load.order import StartOrder
from vllm_soak.workloads.growing_chat import Conversation, GrowingChat
from vllm_soak.workloads.invalid import spoil
from vllm_soak.workloads.mix import GROWING_CHAT, SHARED_PREFIX, Part
from vllm_soak.workloads.schemas import response_format
from vllm_soak.workloads.shared_prefix import SharedPrefix
from vllm_soak.workloads.spread import Spread
from vllm_soak.workloads.text import random_text
from vllm_soak.workloads.unique import Unique
from vllm_soak.workloads.workload import Workload

Fate = Literal["answer", "abort", "disconnect", "invalid"]


@dataclass(slots=True)
class Offer:
    """One request.

    Args:
        part: Position of its part in the mix.
        path: Path of the endpoint.
        body: JSON.
        stream: Whether the answer is streamed.
        fate: `answer`; or it is closed by us before (`abort`) or amid (`disconnect`) the answer; or the server must
            refuse it (`invalid`).
        detail: A number of [0, 1): when to close.
        output_len: Tokens asked for.
        prompt_tokens: Tokens of the prompt where they are known beforehand.
        conversation: That it is the next turn of.
    """

    part: int
    path: str
    body: bytes
    stream: bool
    fate: Fate
    detail: float
    output_len: int
    prompt_tokens: int = 0
    conversation: Conversation | None = None


class Prompts(Protocol):
    """Fills the prompt of one part's requests into their bodies."""

    def fill(self, index: int, body: dict[str, Any]) -> tuple[int, Conversation | None]:
        """Add the prompt; returns its tokens where known (else 0), and the conversation that it continues."""
        ...


class TokenPrompts:
    """Prompts as token ids: the completions endpoint takes them as they are."""

    def __init__(self, workload: Workload) -> None:
        self._workload = workload

    def fill(self, index: int, body: dict[str, Any]) -> tuple[int, Conversation | None]:
        """Add `prompt`."""
        body["prompt"] = self._workload.prompt(index)
        return len(body["prompt"]), None


class ChatPrompts:
    """One message of a user, after a system message that all share, if any."""

    def __init__(self, seed: int, chars: int, system_chars: int) -> None:
        self._seed = seed
        self._chars = chars
        system = random_text(f"{seed}:system", system_chars)
        self._before = [{"role": "system", "content": system}] if system_chars else []

    def fill(self, index: int, body: dict[str, Any]) -> tuple[int, Conversation | None]:
        """Add `messages`."""
        text = random_text(f"{self._seed}:{index}", self._chars)
        body["messages"] = [*self._before, {"role": "user", "content": text}]
        return 0, None


class TurnPrompts:
    """The next turn of a conversation."""

    def __init__(self, chat: GrowingChat) -> None:
        self._chat = chat

    def fill(self, index: int, body: dict[str, Any]) -> tuple[int, Conversation | None]:  # noqa: ARG002 - Prompts
        """Add `messages`; which conversation continues depends on which was answered first."""
        one = self._chat.take()
        body["messages"] = one.messages
        return 0, one

    def answered(self, one: Conversation, reply: str) -> None:
        """Have the conversation wait for its next turn."""
        self._chat.answered(one, reply)


def make_prompts(part: Part, order: StartOrder, chars_per_token: float) -> Prompts:
    """The source of one part's prompts."""
    chars, before = (int(count * chars_per_token) for count in (part.input_len, part.prefix_len))
    if part.workload == GROWING_CHAT:
        return TurnPrompts(GrowingChat(turns=part.turns, chars=chars, system_chars=before, seed=order.seed))
    if part.endpoint == "chat":
        return ChatPrompts(order.seed, chars, before)
    lengths = {
        "input_len": part.input_len,
        "output_len": part.output_len,
        "vocab_size": order.vocab_size,
        "seed": order.seed,
    }
    if part.workload == SHARED_PREFIX:
        return TokenPrompts(SharedPrefix(prefix_len=part.prefix_len, **lengths))
    return TokenPrompts(Unique(**lengths))


def base_body(part: Part, model: str) -> dict[str, Any]:
    """The fields that all requests of a part share."""
    body: dict[str, Any] = {"model": model, "max_tokens": part.output_len, "temperature": 0.0}
    if not part.structured:
        body["ignore_eos"] = True  # so that every answer has the length asked for; a grammar must be able to end
    if part.stream:
        body |= {"stream": True, "stream_options": {"include_usage": True}}
    if part.n > 1:
        body |= {"n": part.n, "temperature": 1.0}  # a server may refuse several equal answers
    if part.logprobs is not None:
        chat = {"logprobs": True, "top_logprobs": part.logprobs}
        body |= chat if part.endpoint == "chat" else {"logprobs": part.logprobs}
    return body | dict(part.extra)


def fate_of(part: Part, number: float) -> Fate:
    """What becomes of a request, by a number of [0, 1)."""
    edge = 0.0
    for fate, share in _shares(part).items():
        edge += share
        if number < edge:
            return fate
    return "answer"


def _shares(part: Part) -> Mapping[Fate, float]:
    return {"abort": part.abort, "disconnect": part.disconnect, "invalid": part.invalid}


class Fates:
    """Deals out the fates of one part's requests, each its share of them.

    Args:
        part: The part.
        key: Where the choices begin.
    """

    def __init__(self, part: Part, key: str) -> None:
        self._part = part
        self._fates, self._details = Spread(f"{key}:fate"), Spread(f"{key}:detail")
        self._dealt: Counter[Fate] = Counter()

    def deal(self) -> tuple[Fate, float]:
        """The next request's fate, and a number of [0, 1) that is spread evenly over those of the same fate."""
        fate = fate_of(self._part, self._fates.at(self._dealt.total()))
        self._dealt[fate] += 1
        return fate, self._details.at(self._dealt[fate])


class Source:
    """Makes requests, and takes back what a conversation needs of their answers.

    Args:
        order: What is sent.
        model: Name of the model.
        chars_per_token: For text.
    """

    def __init__(self, order: StartOrder, model: str, chars_per_token: float) -> None:
        self.mix = order.mix
        self._max_model_len = order.max_model_len
        self._prompts = [make_prompts(part, order, chars_per_token) for part in order.mix.parts]
        self._bodies = [base_body(part, model) for part in order.mix.parts]
        self._fates = [Fates(part, f"{order.seed}:{part.name}") for part in order.mix.parts]

    def offer(self, index: int) -> Offer:
        """The request of one index; what becomes of it depends on how many of its part there were before."""
        number = self.mix.part(index)
        part = self.mix.parts[number]
        body = dict(self._bodies[number])
        tokens, conversation = self._prompts[number].fill(index, body)
        fate, detail = self._fates[number].deal()
        if part.structured:
            body["response_format"] = response_format(index)
        if fate == "invalid":
            spoil(body, detail, self._max_model_len)
        raw = json.dumps(body, separators=(",", ":")).encode()
        return Offer(number, part.path, raw, part.stream, fate, detail, part.output_len, tokens, conversation)

    def answered(self, offer: Offer, reply: str) -> None:
        """Continue the conversation of a request that was answered well; others end here."""
        prompts = self._prompts[offer.part]
        if offer.conversation is not None and isinstance(prompts, TurnPrompts):
            prompts.answered(offer.conversation, reply)
