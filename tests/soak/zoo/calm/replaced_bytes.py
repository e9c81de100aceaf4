# SPDX-License-Identifier: Apache-2.0
"""Bytes that are replaced by others of the same length."""

from __future__ import annotations


class Service:
    def __init__(self) -> None:
        self.frame = bytes(10_000)


SERVICE = Service()


def step() -> None:
    SERVICE.frame = SERVICE.frame[1:] + SERVICE.frame[:1]
