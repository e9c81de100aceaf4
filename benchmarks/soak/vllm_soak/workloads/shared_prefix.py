# SPDX-License-Identifier: Apache-2.0
"""Prompts that start alike and end differently: the prefix cache serves the beginning."""

from __future__ import annotations

from vllm_soak.workloads.alphabet import alphabet_size, random_tokens
from vllm_soak.workloads.unique import Unique


class SharedPrefix:
    """One shared prefix (a system prompt), then a unique rest.

    Args:
        prefix_len: Tokens of the shared prefix.
        input_len: Tokens of the unique rest.
        output_len: Tokens generated for each request.
        vocab_size: Size of the model's vocabulary.
        seed: Prompts of different seeds differ, the prefix too.
    """

    name = "shared-prefix"

    def __init__(self, *, prefix_len: int, input_len: int, output_len: int, vocab_size: int, seed: int = 0) -> None:
        self.output_len = output_len
        self.prefix = random_tokens(f"{seed}:prefix", prefix_len, alphabet_size(vocab_size))
        self._rest = Unique(input_len=input_len, output_len=output_len, vocab_size=vocab_size, seed=seed)

    def prompt(self, index: int) -> list[int]:
        """Token ids of request `index`: the prefix, then the rest."""
        return self.prefix + self._rest.prompt(index)
