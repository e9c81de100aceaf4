# SPDX-License-Identifier: Apache-2.0
"""A table with as many keys as there are slots."""

from __future__ import annotations

import itertools

TABLE: dict[int, object] = {}
KEYS = itertools.count()


def step() -> None:
    TABLE[next(KEYS) % 24] = object()
