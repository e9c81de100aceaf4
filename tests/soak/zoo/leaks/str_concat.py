# SPDX-License-Identifier: Apache-2.0
"""A transcript in one string that gets longer."""

from __future__ import annotations

PATH = "str_concat.SERVICE.transcript"
NEEDS = "sizes"


class Service:
    def __init__(self) -> None:
        self.transcript = ""


SERVICE = Service()


def step() -> None:
    SERVICE.transcript += "a line of the transcript\n" * 100
