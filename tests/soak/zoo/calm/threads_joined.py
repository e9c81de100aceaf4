# SPDX-License-Identifier: Apache-2.0
"""A thread for every request that is joined."""

from __future__ import annotations

import threading


def step() -> None:
    thread = threading.Thread(target=len, args=("",))
    thread.start()
    thread.join()
