# SPDX-License-Identifier: Apache-2.0
"""What was computed of objects that live anyway, by object: weakly, and by a generic function of their classes."""

from __future__ import annotations

import functools
import itertools
import weakref

CLASSES = [type(f"Kind{at}", (), {}) for at in range(400)]
OBJECTS = [cls() for cls in CLASSES]
SEEN: weakref.WeakKeyDictionary[object, int] = weakref.WeakKeyDictionary()
NAMES: dict[type, str] = {}
TURN = itertools.count()
CLEAR = True
NEEDS = "populations"


@functools.singledispatch
def encode(value: object) -> str:
    return str(value)


def step() -> None:
    for _ in range(3):
        one = OBJECTS[next(TURN) % len(OBJECTS)]
        SEEN[one] = 1
        NAMES[type(one)] = "shown"
        encode(one)
