# SPDX-License-Identifier: Apache-2.0
"""Unique random prompts: no two requests share their first block, so nothing is ever reused."""

from __future__ import annotations

from vllm_soak.workloads.alphabet import INDEX_TOKENS, alphabet_size, digits, random_tokens


class Unique:
    """The reporter's load: every prompt is new.

    Args:
        input_len: Tokens of each prompt.
        output_len: Tokens generated for each request.
        vocab_size: Size of the model's vocabulary.
        seed: Prompts of different seeds differ.
    """

    name = "unique"

    def __init__(self, *, input_len: int, output_len: int, vocab_size: int, seed: int = 0) -> None:
        self.input_len = input_len
        self.output_len = output_len
        self.seed = seed
        self._size = alphabet_size(vocab_size)
        self._marks = min(INDEX_TOKENS, input_len)

    def prompt(self, index: int) -> list[int]:
        """Token ids of request `index`; its first tokens are the index itself."""
        tokens = random_tokens(f"{self.seed}:{index}", self.input_len, self._size)
        tokens[: self._marks] = digits(index, self._marks, self._size)
        return tokens
