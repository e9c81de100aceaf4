# SPDX-License-Identifier: Apache-2.0
"""Bound methods of sessions that are over."""

from __future__ import annotations

from collections.abc import Callable

PATH = "listeners.EVENT.listeners"


class Event:
    def __init__(self) -> None:
        self.listeners: list[Callable[[], None]] = []


class Session:
    def __init__(self) -> None:
        self.block = bytearray(1000)

    def on_event(self) -> None: ...


EVENT = Event()


def step() -> None:
    EVENT.listeners.append(Session().on_event)
