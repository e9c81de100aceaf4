# SPDX-License-Identifier: Apache-2.0
"""A tuple of short texts that is replaced by a longer one; the texts are too plain to be seen one by one."""

from __future__ import annotations

import itertools

PATH = "tuple_of_texts.SERVICE.names"
NEEDS = "sizes"


class Service:
    def __init__(self) -> None:
        self.names: tuple[str, ...] = ()


SERVICE = Service()
NUMBERS = itertools.count()


def step() -> None:
    SERVICE.names = (*SERVICE.names, f"request {next(NUMBERS)}")
