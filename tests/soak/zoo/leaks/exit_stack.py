# SPDX-License-Identifier: Apache-2.0
"""An ExitStack that outlives the requests that push to it."""

from __future__ import annotations

import contextlib

PATH = "exit_stack.STACK._exit_callbacks"

STACK = contextlib.ExitStack()


def step() -> None:
    STACK.callback(print)
