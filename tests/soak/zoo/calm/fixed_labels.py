# SPDX-License-Identifier: Apache-2.0
"""A metric with the same few labels."""

from __future__ import annotations

import itertools

CHILDREN: dict[tuple[str, int], int] = {}
STATUSES = itertools.cycle([200, 200, 404, 500])


def step() -> None:
    labels = ("GET", next(STATUSES))
    CHILDREN[labels] = CHILDREN.get(labels, 0) + 1
