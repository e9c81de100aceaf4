# SPDX-License-Identifier: Apache-2.0
"""An abstract class remembers which of a program's classes it is no base of."""

from __future__ import annotations

import itertools
from collections.abc import Mapping

KINDS = [type(f"Kind{at}", (), {}) for at in range(300)]
STEPS = itertools.count()


def step() -> None:
    for _ in range(4):
        isinstance(KINDS[next(STEPS)](), Mapping)
