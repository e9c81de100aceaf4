# SPDX-License-Identifier: Apache-2.0
"""Exceptions kept for a report, each with the frames that it passed through."""

from __future__ import annotations

PATH = "tracebacks_kept.SERVICE.failures"
SHOWS = "ValueError fail (tracebacks_kept.py:"


class Service:
    def __init__(self) -> None:
        self.failures: list[Exception] = []


SERVICE = Service()


def fail() -> None:
    block = bytearray(1000)
    raise ValueError(len(block))


def step() -> None:
    try:
        fail()
    except ValueError as failure:
        SERVICE.failures.append(failure)
