# SPDX-License-Identifier: Apache-2.0
"""Threads that never end."""

from __future__ import annotations

import threading

PATH = "threading._active"

NEVER = threading.Event()


def step() -> None:
    threading.Thread(target=NEVER.wait, daemon=True).start()
