# SPDX-License-Identifier: Apache-2.0
"""What a pool's thread keeps for itself is never cleared, since the thread never ends."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

PATH = 'local_of_pool.LOCAL.<dict>[*]["seen"]', "local_of_pool.LOCAL.<dict>[*][*]"

LOCAL = threading.local()
POOL = ThreadPoolExecutor(1)


def work() -> None:
    if not hasattr(LOCAL, "seen"):
        LOCAL.seen = []
    LOCAL.seen.append(object())


def step() -> None:
    POOL.submit(work).result()
