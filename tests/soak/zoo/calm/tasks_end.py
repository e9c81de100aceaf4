# SPDX-License-Identifier: Apache-2.0
"""A task for every request that ends and leaves the set of tasks."""

from __future__ import annotations

import asyncio

LOOP = asyncio.new_event_loop()
TASKS: set[asyncio.Task[None]] = set()


def step() -> None:
    task = LOOP.create_task(asyncio.sleep(0))
    TASKS.add(task)
    task.add_done_callback(TASKS.discard)
    LOOP.run_until_complete(task)
