# SPDX-License-Identifier: Apache-2.0
"""A queue with a maxsize that is read later."""

from __future__ import annotations

import queue

BACKLOG: queue.Queue[object] = queue.Queue(maxsize=1000)


def step() -> None:
    BACKLOG.put(object())
