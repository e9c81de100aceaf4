# SPDX-License-Identifier: Apache-2.0
"""A pool starts a thread for each piece of work that finds none idle, up to its limit: few at a time."""

from __future__ import annotations

import itertools
import threading
from concurrent.futures import ThreadPoolExecutor

POOL = ThreadPoolExecutor(64)
STEPS = itertools.count(2)


def step() -> None:
    at_once = next(STEPS) // 2
    together = threading.Barrier(at_once)
    for one in [POOL.submit(together.wait) for _ in range(at_once)]:
        one.result()
