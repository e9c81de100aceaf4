# SPDX-License-Identifier: Apache-2.0
"""A buffer that is sent whenever it is full."""

from __future__ import annotations

BUFFER = bytearray()


def step() -> None:
    BUFFER.extend(b"x" * 1000)
    if len(BUFFER) > 24_000:
        BUFFER.clear()
