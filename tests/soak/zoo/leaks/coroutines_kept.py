# SPDX-License-Identifier: Apache-2.0
"""Coroutines that were made and never awaited."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any

PATH = "coroutines_kept.SERVICE.pending"
SHOWS = "coroutine notify (coroutines_kept.py:"


async def notify(block: bytearray) -> int:
    return len(block)


class Service:
    def __init__(self) -> None:
        self.pending: list[Coroutine[Any, Any, int]] = []


SERVICE = Service()


def step() -> None:
    SERVICE.pending.append(notify(bytearray(100)))
