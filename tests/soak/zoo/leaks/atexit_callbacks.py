# SPDX-License-Identifier: Apache-2.0
"""A clean-up registered for the end of the process, once a request."""

from __future__ import annotations

import atexit

PATH = "atexit"
NEEDS = "registries"


def step() -> None:
    atexit.register(bytearray(1000).clear)
