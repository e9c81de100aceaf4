# SPDX-License-Identifier: Apache-2.0
"""A list in a slot."""

from __future__ import annotations

PATH = "slots_object_list.SERVICE.history"


class Service:
    __slots__ = ("history",)

    def __init__(self) -> None:
        self.history: list[object] = []


SERVICE = Service()


def step() -> None:
    SERVICE.history.append(object())
