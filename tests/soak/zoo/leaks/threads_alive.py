# SPDX-License-Identifier: Apache-2.0
"""Threads that never end; the interpreter's own weak set of them grows as well."""

from __future__ import annotations

import threading

PATH = "threading._active"
AMONG = 2

NEVER = threading.Event()


def step() -> None:
    threading.Thread(target=NEVER.wait, daemon=True).start()
