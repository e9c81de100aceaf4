# SPDX-License-Identifier: Apache-2.0
"""Threads that never end; the interpreter's own weak set and native state of them grow as well."""

from __future__ import annotations

import threading

PATH = "threading._active"

NEVER = threading.Event()


def step() -> None:
    threading.Thread(target=NEVER.wait, daemon=True).start()
