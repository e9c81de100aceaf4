# SPDX-License-Identifier: Apache-2.0
"""Middleware that wraps the middleware before, once a request."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

PATH = "closure_chain.SERVICE.handler"
NEEDS = "populations"


def wrap(inner: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def outer(request: Any) -> Any:
        return inner(request)

    return outer


class Service:
    def __init__(self) -> None:
        self.handler: Callable[[Any], Any] = str


SERVICE = Service()


def step() -> None:
    SERVICE.handler = wrap(SERVICE.handler)
