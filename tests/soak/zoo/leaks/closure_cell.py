# SPDX-License-Identifier: Apache-2.0
"""A list that only a closure holds."""

from __future__ import annotations

from collections.abc import Callable

PATH = "closure_cell.HANDLER.<seen>"


def make_handler() -> Callable[[object], int]:
    seen: list[object] = []

    def handle(request: object) -> int:
        seen.append(request)
        return len(seen)

    return handle


HANDLER = make_handler()


def step() -> None:
    HANDLER(object())
