# SPDX-License-Identifier: Apache-2.0
"""Objects of a fixed set of classes are copied: each class remembers its slots, once, and nothing holds all of them."""

from __future__ import annotations

import copy
import itertools

CLASSES = [type(f"Kind{at}", (), {}) for at in range(400)]
TURN = itertools.count()
for one in CLASSES:
    globals()[one.__name__] = one


def step() -> None:
    for _ in range(3):
        copy.copy(CLASSES[next(TURN) % len(CLASSES)]())
