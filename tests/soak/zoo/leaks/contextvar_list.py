# SPDX-License-Identifier: Apache-2.0
"""A list that only the running thread's context holds."""

from __future__ import annotations

import contextvars

PATH = "<contextvar HISTORY>"
NEEDS = "populations"

HISTORY: contextvars.ContextVar[list[object]] = contextvars.ContextVar("HISTORY")
HISTORY.set([])


def step() -> None:
    HISTORY.get().append(object())
