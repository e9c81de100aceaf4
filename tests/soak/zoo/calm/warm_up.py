# SPDX-License-Identifier: Apache-2.0
"""Tables that the first requests fill."""

from __future__ import annotations

import itertools

TABLES: dict[int, list[int]] = {}
REQUESTS = itertools.count()


def step() -> None:
    kind = next(REQUESTS) * 3
    if kind < 60:
        TABLES[kind] = list(range(kind))
