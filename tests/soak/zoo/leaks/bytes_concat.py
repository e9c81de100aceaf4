# SPDX-License-Identifier: Apache-2.0
"""Immutable bytes that are replaced by longer ones."""

from __future__ import annotations

PATH = "bytes_concat.SERVICE.buffer"
NEEDS = "sizes"


class Service:
    def __init__(self) -> None:
        self.buffer = b""


SERVICE = Service()


def step() -> None:
    SERVICE.buffer += b"some bytes of a frame" * 100
