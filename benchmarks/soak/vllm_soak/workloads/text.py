# SPDX-License-Identifier: Apache-2.0
"""Random English-like text, for endpoints that take no token ids."""

from __future__ import annotations

import hashlib

# Short plain words: real tokenizers have a token for each, byte-level ones a few.
PLAIN = (
    "the of and to in is that it was for on are with as his they be at one have this from or had by hot word but "
    "what some we can out other were all there when up use your how said an each she which do their time if will"
)
WORDS = tuple(PLAIN.split())
KEY_BYTES = 8
_SHORTEST = min(map(len, WORDS)) + 1


def random_text(key: str, chars: int) -> str:
    """Text of exactly `chars` ASCII characters, a pure function of `key`.

    Texts of different keys differ from their first characters on: they begin with a digest of the key.
    """
    raw = hashlib.shake_128(key.encode()).digest(KEY_BYTES + chars // _SHORTEST)
    words = [raw[:KEY_BYTES].hex(), *(WORDS[value % len(WORDS)] for value in raw[KEY_BYTES:])]
    return " ".join(words).ljust(chars, ".")[:chars]
