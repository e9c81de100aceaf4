# SPDX-License-Identifier: Apache-2.0
"""The last so many times, kept by a slice; what limits them is called as nothing else is."""

from __future__ import annotations

MOST_ROUNDS = 15
CLEAR = True


class Window:
    def __init__(self, shown: int) -> None:
        self.shown = shown
        self.times: list[object] = []

    def add(self, one: object) -> None:
        self.times.append(one)
        self.times = self.times[-self.shown :]


WINDOW = Window(90)


def step() -> None:
    WINDOW.add(object())
