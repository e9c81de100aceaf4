# SPDX-License-Identifier: Apache-2.0
"""A list that is a local of one background task."""

from __future__ import annotations

import asyncio

PATH = ("async_local.LOOP.<Task>.seen", "async_local.TASK.seen", "async_local.TASK.<coroutine>.seen")
SHOWS = "coroutine "


async def collect(inbox: asyncio.Queue[object]) -> None:
    seen: list[object] = []
    while True:
        seen.append(await inbox.get())


LOOP = asyncio.new_event_loop()
INBOX: asyncio.Queue[object] = asyncio.Queue()
TASK = LOOP.create_task(collect(INBOX))  # noqa: RUF006 - kept by this name


def step() -> None:
    INBOX.put_nowait(object())
    LOOP.run_until_complete(asyncio.sleep(0))
