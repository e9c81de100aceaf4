# SPDX-License-Identifier: Apache-2.0
"""A queue that is filled faster than it is read."""

from __future__ import annotations

import queue

PATH = "queue_unread.QUEUE.queue"

QUEUE: queue.Queue[object] = queue.Queue()


def step() -> None:
    QUEUE.put(object())
    QUEUE.put(object())
    QUEUE.get()
