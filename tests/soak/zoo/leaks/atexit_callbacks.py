# SPDX-License-Identifier: Apache-2.0
"""A clean-up registered for the end of the process, once a request: it is seen, its holder is native."""

from __future__ import annotations

import atexit

PATH = ("atexit", "<no root: bytearray>", "<no root: builtin_function_or_method>")
NEEDS = "populations"


def step() -> None:
    atexit.register(bytearray(1000).clear)
