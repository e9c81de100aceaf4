# SPDX-License-Identifier: Apache-2.0
"""Distinct words of a text: ever fewer new ones."""

from __future__ import annotations

import itertools
import math

WORDS: set[int] = set()
READ = itertools.count(1)


def step() -> None:
    for _ in range(20):
        WORDS.add(int(100 * math.log(next(READ))))
