# SPDX-License-Identifier: Apache-2.0
"""A context variable that is set and reset."""

from __future__ import annotations

import contextvars

REQUEST: contextvars.ContextVar[object] = contextvars.ContextVar("REQUEST", default=None)


def step() -> None:
    token = REQUEST.set(object())
    REQUEST.reset(token)
