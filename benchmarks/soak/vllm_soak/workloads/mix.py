# SPDX-License-Identifier: Apache-2.0
"""A mix of requests: its parts, their shares, and what is checked of them before anything is sent."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from itertools import accumulate
from typing import Any

from vllm_soak.workloads.spread import Spread

UNIQUE, SHARED_PREFIX, GROWING_CHAT = "unique", "shared-prefix", "growing-chat"
WORKLOADS = (UNIQUE, SHARED_PREFIX, GROWING_CHAT)
ENDPOINTS = {"completions": "/v1/completions", "chat": "/v1/chat/completions"}
_SHARES = ("abort", "disconnect", "invalid")


@dataclass(frozen=True)
class Part:
    """One kind of request.

    Args:
        name: As in results; the workload's name by default.
        share: Weight among the parts; any positive numbers, they need not add up to 1.
        workload: `unique`, `shared-prefix` or `growing-chat` (always to the chat endpoint).
        endpoint: `completions` (prompts are token ids) or `chat` (prompts are text).
        stream: Whether answers are streamed.
        input_len: Tokens of a prompt, or of a message of the user, without the shared prefix.
        output_len: Tokens generated for each request.
        prefix_len: Tokens of the shared prefix (`shared-prefix`), or of the system message of a chat.
        turns: Requests of one conversation (`growing-chat`).
        n: Answers for one prompt.
        logprobs: Log-probabilities of this many tokens at each place; None for none.
        structured: Whether each request demands JSON after a schema of its own.
        abort: Share (0 to 1) of requests whose connection is closed before the answer has come.
        disconnect: Share of requests whose connection is closed in the middle of the stream.
        invalid: Share of requests that the server must refuse.
        extra: Further fields of the request's body.
    """

    name: str = ""
    share: float = 1.0
    workload: str = UNIQUE
    endpoint: str = "completions"
    stream: bool = False
    input_len: int = 220
    output_len: int = 1
    prefix_len: int = 0
    turns: int = 6
    n: int = 1
    logprobs: int | None = None
    structured: bool = False
    abort: float = 0.0
    disconnect: float = 0.0
    invalid: float = 0.0
    extra: Mapping[str, Any] = field(default_factory=dict)

    @property
    def path(self) -> str:
        """Path of the endpoint."""
        return ENDPOINTS[self.endpoint]

    @property
    def longest(self) -> int:
        """Tokens of the longest prompt with its answer, without what a chat template adds."""
        prefix = 0 if self.workload == UNIQUE else self.prefix_len
        turns = self.turns if self.workload == GROWING_CHAT else 1
        return prefix + turns * (self.input_len + self.output_len)


_DEFAULT = Part()
_TYPES: dict[str, tuple[type, ...]] = {
    "name": (str,),
    "workload": (str,),
    "endpoint": (str,),
    "stream": (bool,),
    "structured": (bool,),
    "extra": (Mapping,),
    **dict.fromkeys(("share", *_SHARES), (int, float)),
    **dict.fromkeys(("input_len", "output_len", "prefix_len", "turns", "n"), (int,)),
    "logprobs": (int, type(None)),
}


class Mix:
    """Parts and which of them a request belongs to.

    Args:
        parts: At least one.
        seed: Order of the parts.
    """

    def __init__(self, parts: list[Part], seed: int = 0) -> None:
        self.parts = parts
        self._spread = Spread(f"{seed}:part")
        total = sum(part.share for part in parts)
        self._bounds = [bound / total for bound in accumulate(part.share for part in parts)][:-1]

    def part(self, index: int) -> int:
        """Position of the part of request `index`; each gets its share in every stretch of requests."""
        return bisect_right(self._bounds, self._spread.at(index))

    def as_json(self) -> list[dict[str, Any]]:
        """The parts with all defaults filled in."""
        return [{**asdict(part), "extra": dict(part.extra)} for part in self.parts]


def make_mix(spec: Mapping[str, Any], seed: int = 0) -> Mix:
    """Check a mix as it is written in a file: `{"part": [{...}, ...]}`.

    Raises:
        ValueError: What is wrong, and with which part.
    """
    unknown = sorted(set(spec) - {"part"})
    rows = spec.get("part")
    tables = isinstance(rows, list) and all(isinstance(row, Mapping) for row in rows)
    if unknown or not rows or not tables:
        what = f"unknown {unknown[0]!r}" if unknown else "no part"
        raise ValueError(f"the mix has {what}: write one [[part]] table for each kind of request, and nothing else")
    parts = [_part(row, number) for number, row in enumerate(rows, 1)]
    names = [part.name for part in parts]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ValueError(f"two parts of the mix are called {twice!r}: give each a `name` of its own")
    return Mix(parts, seed)


def _part(row: Mapping[str, Any], number: int) -> Part:
    where = f"part {number} of the mix"
    known = {one.name for one in fields(Part)}
    for name, value in row.items():
        if name not in known:
            raise ValueError(f"{where} has an unknown field {name!r}: known are {', '.join(sorted(known))}")
        flag = isinstance(value, bool) and bool not in _TYPES[name]
        if flag or not isinstance(value, _TYPES[name]):
            raise ValueError(f"{where}: {name} = {value!r} is of the wrong type: write it like {_example(name)}")
    given = dict(row)
    given["name"] = given.get("name") or given.get("workload", UNIQUE)
    if given.get("workload") == GROWING_CHAT:
        given.setdefault("endpoint", "chat")
    part = Part(**given)
    wrong = _wrong(part)
    if wrong:
        raise ValueError(f"{where} ({part.name}): {wrong}")
    return part


def _example(name: str) -> str:
    value = getattr(_DEFAULT, name)
    samples = {"name": '"my part"', "logprobs": "5", "extra": "{ top_k = 1 }"}
    if name in samples:
        return samples[name]
    return str(value).lower() if isinstance(value, bool) else (f'"{value}"' if isinstance(value, str) else f"{value}")


def _wrong(part: Part) -> str | None:
    """What makes a part impossible, or None."""
    if part.workload not in WORKLOADS:
        return f"unknown workload {part.workload!r}: known are {', '.join(WORKLOADS)}"
    if part.endpoint not in ENDPOINTS:
        return f"unknown endpoint {part.endpoint!r}: known are {', '.join(ENDPOINTS)}"
    return _wrong_number(part) or _wrong_pair(part)


def _wrong_number(part: Part) -> str | None:
    for name in ("input_len", "output_len", "turns", "n"):
        if getattr(part, name) < 1:
            return f"{name} = {getattr(part, name)} is too small: give 1 or more"
    if part.prefix_len < 0 or (part.logprobs or 0) < 0:
        return "prefix_len and logprobs must not be below 0"
    if not 0 < part.share < float("inf"):
        return f"share = {part.share} must be above 0: leave the part out instead"
    for name in _SHARES:
        if not 0 <= getattr(part, name) <= 1:
            return f"{name} = {getattr(part, name)} is no share: give a number from 0 to 1"
    return None


def _wrong_pair(part: Part) -> str | None:
    if part.abort + part.disconnect + part.invalid > 1:
        return "abort, disconnect and invalid add up to more than 1: lower one"
    if part.disconnect and not (part.stream and part.output_len > 1):
        return "disconnect needs the middle of a stream: set stream = true and output_len to 2 or more"
    if part.workload == SHARED_PREFIX and not part.prefix_len:
        return "shared-prefix needs a prefix: give prefix_len, for example 64"
    if part.workload == UNIQUE and part.prefix_len:
        return "prefix_len has no use with unique: set workload to shared-prefix"
    if part.workload == GROWING_CHAT and part.endpoint != "chat":
        return "growing-chat goes to the chat endpoint only: leave endpoint out"
    return None
