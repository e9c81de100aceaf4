# SPDX-License-Identifier: Apache-2.0
"""An asyncio queue without a limit and without a consumer."""

from __future__ import annotations

import asyncio

PATH = "asyncio_queue.QUEUE._queue"

QUEUE: asyncio.Queue[object] = asyncio.Queue()


def step() -> None:
    QUEUE.put_nowait(object())
