# SPDX-License-Identifier: Apache-2.0
"""A frozenset of short texts that is replaced by a larger one; its table becomes larger now and then only."""

from __future__ import annotations

import itertools

PATH = "frozenset_of_texts.SERVICE.names"
NEEDS = "sizes"


class Service:
    def __init__(self) -> None:
        self.names: frozenset[str] = frozenset()


SERVICE = Service()
NUMBERS = itertools.count()


def step() -> None:
    SERVICE.names |= {f"request {next(NUMBERS)}"}
