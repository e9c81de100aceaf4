# SPDX-License-Identifier: Apache-2.0
"""Random token ids at the speed of a hash: prompt `i` of seed `s` is always the same."""

from __future__ import annotations

import hashlib
from array import array

# Four digits of two or more values each: see `digits`.
INDEX_TOKENS = 4
MOST_TOKENS = 1 << 16


def alphabet_size(vocab_size: int) -> int:
    """Token ids that prompts are drawn from: a power of two in the lower half of the vocabulary.

    Special tokens sit at the top of most vocabularies (in the tiny models they start at 256 of 512),
    so the lower half holds ordinary tokens.

    Raises:
        ValueError: The vocabulary has fewer than four tokens.
    """
    if vocab_size < 4:
        raise ValueError(f"a vocabulary of {vocab_size} tokens is too small: 4 or more are needed")
    return min(1 << ((vocab_size // 2).bit_length() - 1), MOST_TOKENS)


def random_tokens(key: str, count: int, size: int) -> list[int]:
    """`count` token ids below `size` (a power of two up to 65,536), a pure function of `key`.

    SHAKE-128 is an extendable-output function, so one call yields a whole prompt; that is ten times
    as fast as seeding `random.Random` for each.
    """
    raw = hashlib.shake_128(key.encode()).digest(2 * count)
    if size <= 256:
        mask = size - 1
        return list(raw[:count]) if size == 256 else [value & mask for value in raw[:count]]
    mask = size - 1
    return [value & mask for value in array("H", raw)]


def digits(index: int, count: int, size: int) -> list[int]:
    """The `count` lowest digits of `index` in base `size`, lowest first.

    Prompts that start with them differ in their first tokens, so no two share a KV block.
    """
    found = []
    for _ in range(count):
        index, digit = divmod(index, size)
        found.append(digit)
    return found
