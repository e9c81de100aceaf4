# SPDX-License-Identifier: Apache-2.0
"""A list that every request is appended to."""

from __future__ import annotations

PATH = "list_append.SERVICE.history"


class Service:
    def __init__(self) -> None:
        self.history = []


SERVICE = Service()


def step() -> None:
    SERVICE.history.append(object())
