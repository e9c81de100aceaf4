# SPDX-License-Identifier: Apache-2.0
"""Futures by request id that nobody resolves."""

from __future__ import annotations

from concurrent.futures import Future

PATH = "futures_dict.SERVICE.futures"


class Service:
    def __init__(self) -> None:
        self.futures = {}


SERVICE = Service()


def step() -> None:
    SERVICE.futures[len(SERVICE.futures)] = Future()
