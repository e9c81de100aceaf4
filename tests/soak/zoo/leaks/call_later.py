# SPDX-License-Identifier: Apache-2.0
"""Timeouts that are scheduled far ahead and never cancelled."""

from __future__ import annotations

import asyncio

PATH = "call_later.LOOP._scheduled"

LOOP = asyncio.new_event_loop()


def step() -> None:
    LOOP.call_later(1e6, print)
