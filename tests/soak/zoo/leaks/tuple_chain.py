# SPDX-License-Identifier: Apache-2.0
"""A state that is a pair of the state before and the latest event."""

from __future__ import annotations

PATH = "tuple_chain.SERVICE.state"
NEEDS = "populations"


class Service:
    def __init__(self) -> None:
        self.state = ()


SERVICE = Service()


def step() -> None:
    SERVICE.state = (SERVICE.state, object())
