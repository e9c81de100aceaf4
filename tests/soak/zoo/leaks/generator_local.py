# SPDX-License-Identifier: Apache-2.0
"""A list that is a local of one suspended generator."""

from __future__ import annotations

from collections.abc import Generator

PATH = "generator_local.SERVICE.stream.seen"
SHOWS = "generator collect (generator_local.py:"


def collect() -> Generator[int, object, None]:
    seen: list[object] = []
    while True:
        seen.append((yield len(seen)))


class Service:
    def __init__(self) -> None:
        self.stream = collect()
        next(self.stream)


SERVICE = Service()


def step() -> None:
    SERVICE.stream.send(object())
