# SPDX-License-Identifier: Apache-2.0
"""Requests in flight: each is replaced by another before it leaves."""

from __future__ import annotations

import itertools

RUNNING: dict[int, bytearray] = {}
IDS = itertools.count()


def step() -> None:
    now = next(IDS)
    RUNNING[now] = bytearray(100)
    RUNNING.pop(now - 12, None)
