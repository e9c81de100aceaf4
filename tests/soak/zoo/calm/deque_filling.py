# SPDX-License-Identifier: Apache-2.0
"""A deque that is far from its maxlen."""

from __future__ import annotations

from collections import deque


class Service:
    def __init__(self) -> None:
        self.recent = deque(maxlen=100_000)


SERVICE = Service()


def step() -> None:
    SERVICE.recent.append(object())
