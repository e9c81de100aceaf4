# SPDX-License-Identifier: Apache-2.0
"""What the control channel asks of the load: whom to load with what (`start`), and how much (`load`)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from vllm_soak.workloads.mix import Mix, make_mix


@dataclass(frozen=True)
class StartOrder:
    """The arguments of `start`.

    Args:
        url: Base address of the server.
        mix: What is sent.
        seed: Seed of prompts and choices.
        model: Name that the server knows the model by; None asks the server.
        vocab_size: Size of the model's vocabulary, for token ids.
        max_model_len: Longest sequence of the model in tokens; None when not known.
        chars_per_token: For text; None asks the server.
        timeout: Seconds that one request may take.
        give_up: Seconds of nothing but failures after which the server counts as dead.
        stall: Seconds without a byte from the server, while requests wait, after which it counts as hung.
    """

    url: str
    mix: Mix
    seed: int = 0
    model: str | None = None
    vocab_size: int = 512
    max_model_len: int | None = None
    chars_per_token: float | None = None
    timeout: float = 600.0
    give_up: float = 5.0
    stall: float = 300.0

    @classmethod
    def read(cls, command: Mapping[str, Any]) -> StartOrder:
        """From a command of the control channel; an absent or null value is the default.

        Raises:
            ValueError: The mix or a workload is impossible.
        """
        seed = int(command.get("seed") or 0)
        kinds = {"model": str, "vocab_size": int, "max_model_len": int, "chars_per_token": float}
        limits = dict.fromkeys(("timeout", "give_up", "stall"), float)
        spec = command.get("mix")
        mix = make_mix(one_part(command.get("workload") or {}) if spec is None else spec, seed)
        order = cls(str(command["url"]).rstrip("/"), mix, seed, **_given(command, {**kinds, **limits}))
        check_lengths(mix, order.max_model_len)
        return order


@dataclass(frozen=True)
class LoadOrder:
    """The arguments of `load`; it ends with whichever of `requests` and `seconds` comes first.

    Args:
        requests: Requests to offer; infinity for no limit.
        seconds: Time in which requests are offered; those in flight then are waited for.
        first: Index of the first request; indices name prompts and choices.
        max_concurrency: Greatest number in flight.
        request_rate: Requests offered per second; infinity for a closed loop.
        burstiness: Shape of the arrivals' gamma distribution.
    """

    requests: float = math.inf
    seconds: float = math.inf
    first: int = 0
    max_concurrency: int = 64
    request_rate: float = math.inf
    burstiness: float = 1.0

    @classmethod
    def read(cls, command: Mapping[str, Any]) -> LoadOrder:
        """From a command of the control channel; an absent or null value is the default.

        Raises:
            ValueError: It would never end.
        """
        kinds = dict.fromkeys(("requests", "seconds", "request_rate", "burstiness"), float)
        order = cls(**_given(command, {**kinds, "first": int, "max_concurrency": int}))
        if math.isinf(order.requests) and math.isinf(order.seconds):
            raise ValueError("a load needs an end: give requests, or seconds")
        return order


def check_lengths(mix: Mix, max_model_len: int | None) -> None:
    """Refuse requests that the model cannot hold.

    Raises:
        ValueError: Naming the part.
    """
    for part in mix.parts:
        if max_model_len is not None and part.longest > max_model_len:
            raise ValueError(
                f"requests of part {part.name} grow to {part.longest} tokens, and the model's longest sequence has "
                f"{max_model_len}: lower its input_len, output_len, prefix_len or turns"
            )


def one_part(workload: Mapping[str, Any]) -> dict[str, Any]:
    """A mix of one part from the `workload` of the engines' hosts; its seed belongs to the whole."""
    names = {"kind": "workload"}
    return {"part": [{names.get(name, name): value for name, value in workload.items() if name != "seed"}]}


def _given(command: Mapping[str, Any], kinds: Mapping[str, type]) -> dict[str, Any]:
    return {name: kind(command[name]) for name, kind in kinds.items() if command.get(name) is not None}
