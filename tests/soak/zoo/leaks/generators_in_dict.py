# SPDX-License-Identifier: Apache-2.0
"""Suspended generators of requests that were dropped."""

from __future__ import annotations

from collections.abc import Iterator

PATH = "generators_in_dict.SERVICE.streams"
SHOWS = "generator stream (generators_in_dict.py:"


def stream(size: int) -> Iterator[int]:
    block = bytearray(size)
    yield len(block)
    yield 0


class Service:
    def __init__(self) -> None:
        self.streams: dict[int, Iterator[int]] = {}


SERVICE = Service()


def step() -> None:
    one = stream(1000)
    next(one)
    SERVICE.streams[len(SERVICE.streams)] = one
