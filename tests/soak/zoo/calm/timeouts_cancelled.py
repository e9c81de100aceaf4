# SPDX-License-Identifier: Apache-2.0
"""Timeouts that are cancelled: the loop cleans up now and then."""

from __future__ import annotations

import asyncio

LOOP = asyncio.new_event_loop()


def step() -> None:
    for _ in range(37):
        LOOP.call_later(1e6, print).cancel()
    LOOP.run_until_complete(asyncio.sleep(0))
