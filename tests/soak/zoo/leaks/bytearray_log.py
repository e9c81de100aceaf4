# SPDX-License-Identifier: Apache-2.0
"""A bytearray that a protocol appends to and never consumes."""

from __future__ import annotations

PATH = "bytearray_log.SERVICE.buffer"


class Service:
    def __init__(self) -> None:
        self.buffer = bytearray()


SERVICE = Service()


def step() -> None:
    SERVICE.buffer += b"some bytes of a frame"
