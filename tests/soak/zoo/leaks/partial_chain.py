# SPDX-License-Identifier: Apache-2.0
"""functools.partial around the callback before."""

from __future__ import annotations

import functools
from collections.abc import Callable

PATH = "partial_chain.SERVICE.callback"
NEEDS = "populations"


def call(inner: Callable[[], int]) -> int:
    return inner()


class Service:
    def __init__(self) -> None:
        self.callback: Callable[[], int] = int


SERVICE = Service()


def step() -> None:
    SERVICE.callback = functools.partial(call, SERVICE.callback)
