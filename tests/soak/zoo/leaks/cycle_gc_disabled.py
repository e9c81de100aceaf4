# SPDX-License-Identifier: Apache-2.0
"""Cycles that pile up since the collector is off: freed by the collection after each round."""

from __future__ import annotations

import gc

PATH = ""
OUTCOME = "gc-deferred"
SHOWS = "Node.itself -> Node (1 a request)"

gc.disable()


class Node:
    def __init__(self) -> None:
        self.block = bytearray(120_000)  # above the floor of 1 MiB a round
        self.itself = self


def step() -> None:
    Node()
