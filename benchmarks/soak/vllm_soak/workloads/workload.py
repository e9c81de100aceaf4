# SPDX-License-Identifier: Apache-2.0
"""From the `workload` of the control channel to an object that makes prompts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from vllm_soak.workloads.growing_tokens import GrowingTokens
from vllm_soak.workloads.shared_prefix import SharedPrefix
from vllm_soak.workloads.unique import Unique

NAMES = (Unique.name, SharedPrefix.name, GrowingTokens.name)


class Workload(Protocol):
    """A source of prompts.

    Args:
        output_len: Tokens generated for each request.
    """

    output_len: int

    def prompt(self, index: int) -> list[int]:
        """Token ids of request `index`."""
        ...


def make_workload(spec: Mapping[str, Any], vocab_size: int) -> Workload:
    """Build the workload that a `start` command describes.

    Args:
        spec: `kind` (default `unique`), `input_len` (220), `output_len` (1), `prefix_len` (0; only for
            `shared-prefix`), `turns` (8; only for `growing-chat`), `seed` (0).
        vocab_size: Size of the model's vocabulary.

    Raises:
        ValueError: Unknown kind.
    """
    kind = spec.get("kind", Unique.name)
    lengths = {
        "input_len": int(spec.get("input_len", 220)),
        "output_len": int(spec.get("output_len", 1)),
        "vocab_size": vocab_size,
        "seed": int(spec.get("seed", 0)),
    }
    if kind == Unique.name:
        return Unique(**lengths)
    if kind == SharedPrefix.name:
        return SharedPrefix(prefix_len=int(spec.get("prefix_len", 0)), **lengths)
    if kind == GrowingTokens.name:
        return GrowingTokens(turns=int(spec.get("turns", 8)), **lengths)
    raise ValueError(f"unknown workload {kind!r}: known are {', '.join(NAMES)}")
