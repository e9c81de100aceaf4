# SPDX-License-Identifier: Apache-2.0
"""Background tasks kept in a set, none of which ever ends; asyncio's own weak set grows as well."""

from __future__ import annotations

import asyncio

PATH = "asyncio_tasks.TASKS"

LOOP = asyncio.new_event_loop()
TASKS: set[asyncio.Task[None]] = set()


async def wait_for_ever() -> None:
    await LOOP.create_future()


def step() -> None:
    TASKS.add(LOOP.create_task(wait_for_ever()))
    LOOP.run_until_complete(asyncio.sleep(0))
