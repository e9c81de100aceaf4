# SPDX-License-Identifier: Apache-2.0
"""Requests that are the keys of a dict, beside as many that come and go."""

from __future__ import annotations

PATH = "dict_by_object.SERVICE.seen"


class Request:
    pass


class Service:
    def __init__(self) -> None:
        self.seen: dict[Request, int] = {}
        self.waiting = [Request() for _ in range(500)]


SERVICE = Service()


def step() -> None:
    SERVICE.seen[Request()] = 1
    SERVICE.waiting = [Request() for _ in SERVICE.waiting]
