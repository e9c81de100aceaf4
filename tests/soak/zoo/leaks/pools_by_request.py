# SPDX-License-Identifier: Apache-2.0
"""A pool of threads for each request, which nobody shuts down: each keeps to its limit, all of them do not."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

PATH = ("pools_by_request.POOLS", "threading._active", "threading._shutdown_locks")
POOLS: list[ThreadPoolExecutor] = []


def step() -> None:
    POOLS.append(ThreadPoolExecutor(4))
    POOLS[-1].submit(len, "").result()
