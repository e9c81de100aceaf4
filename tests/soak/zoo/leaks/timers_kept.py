# SPDX-License-Identifier: Apache-2.0
"""Timers that are kept after they were cancelled."""

from __future__ import annotations

import threading

PATH = "timers_kept.SERVICE.timers"


class Service:
    def __init__(self) -> None:
        self.timers = []


SERVICE = Service()


def step() -> None:
    timer = threading.Timer(1000, print)
    timer.cancel()
    SERVICE.timers.append(timer)
