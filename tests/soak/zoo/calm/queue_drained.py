# SPDX-License-Identifier: Apache-2.0
"""A queue whose consumer keeps up."""

from __future__ import annotations

import queue

QUEUE: queue.Queue[object] = queue.Queue()


def step() -> None:
    for _ in range(5):
        QUEUE.put(object())
    while not QUEUE.empty():
        QUEUE.get()
