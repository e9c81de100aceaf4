# SPDX-License-Identifier: Apache-2.0
"""The last exception, raised from the one before it."""

from __future__ import annotations

PATH = "exception_chain.SERVICE.last"
NEEDS = "populations"


class Service:
    def __init__(self) -> None:
        self.last: Exception | None = None


SERVICE = Service()


def fail(cause: Exception | None) -> None:
    raise ValueError from cause


def step() -> None:
    try:
        fail(SERVICE.last)
    except ValueError as failure:
        SERVICE.last = failure.with_traceback(None)
