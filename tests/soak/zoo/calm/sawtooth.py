# SPDX-License-Identifier: Apache-2.0
"""A batch that is flushed whenever it is full."""

from __future__ import annotations

BATCH: list[object] = []


def step() -> None:
    BATCH.append(object())
    if len(BATCH) == 35:
        BATCH.clear()
