# SPDX-License-Identifier: Apache-2.0
"""A list on a thread-local object."""

from __future__ import annotations

import threading

PATH = ("thread_local.LOCAL.history", "thread_local.LOCAL")

LOCAL = threading.local()
LOCAL.history = []


def step() -> None:
    LOCAL.history.append(object())
