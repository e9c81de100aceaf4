# SPDX-License-Identifier: Apache-2.0
"""Choices that meet their shares in every stretch of requests, as a pure function of a request's index.

A coin thrown for each request would make rounds of the same length differ by the root of their length. Multiples
of an irrational number modulo 1 (a Kronecker sequence) are off by a few requests, however long the stretch. Choices of
different dimensions must not go together, so that every part of a mix gets its share of aborts: the roots of 5, 2
and 3 have no relation in small whole numbers (of 20,000 requests the worst pair of choices was 19 off; powers of
one root, as in quasi-random sequences of several dimensions, were 70 off in 10,000).
"""

from __future__ import annotations

import hashlib
import math

PART, FATE, DETAIL = 0, 1, 2
_ROOTS = (5, 2, 3)
_WHOLE = 1 << 64
# Fixed point: whole-number products stay exact for any index. Half the root of 5 is the golden ratio's.
_STEPS = tuple(math.isqrt(number << 128) // (2 if number == 5 else 1) % _WHOLE for number in _ROOTS)


class Spread:
    """Evenly spread numbers of [0, 1), three for every index.

    Args:
        seed: Shifts each dimension; same seed, same numbers.
    """

    def __init__(self, seed: int = 0) -> None:
        raw = hashlib.shake_128(f"{seed}:spread".encode()).digest(8 * len(_ROOTS))
        self._starts = [int.from_bytes(raw[8 * one : 8 * one + 8], "little") for one in range(len(_ROOTS))]

    def at(self, index: int, dimension: int) -> float:
        """The number of one index in one dimension (`PART`, `FATE` or `DETAIL`), in [0, 1)."""
        # 53 bits are what a float holds: all 64 could round up to 1.
        return ((self._starts[dimension] + index * _STEPS[dimension]) % _WHOLE >> 11) / (1 << 53)
