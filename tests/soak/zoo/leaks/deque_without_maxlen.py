# SPDX-License-Identifier: Apache-2.0
"""A deque as a log, without a limit."""

from __future__ import annotations

from collections import deque

PATH = "deque_without_maxlen.SERVICE.events"


class Service:
    def __init__(self) -> None:
        self.events = deque()


SERVICE = Service()


def step() -> None:
    SERVICE.events.append(object())
