# SPDX-License-Identifier: Apache-2.0
"""A dict subclass with methods of its own that raise when they are called."""

from __future__ import annotations

PATH = "subclassed_dict.SERVICE.cache"


class Cache(dict[int, object]):
    def __len__(self) -> int:
        raise RuntimeError

    def __iter__(self) -> None:
        raise RuntimeError


class Service:
    def __init__(self) -> None:
        self.cache = Cache()
        self.next = 0


SERVICE = Service()


def step() -> None:
    SERVICE.next += 1
    SERVICE.cache[SERVICE.next] = object()
