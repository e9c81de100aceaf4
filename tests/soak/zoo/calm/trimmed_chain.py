# SPDX-License-Identifier: Apache-2.0
"""A chain of nodes that is cut to eight."""

from __future__ import annotations

from typing import Any


class Node:
    def __init__(self, below: Any) -> None:
        self.below = below


HEAD = [Node(None)]


def step() -> None:
    HEAD[0] = Node(HEAD[0])
    node = HEAD[0]
    for _ in range(7):
        if node.below is None:
            return
        node = node.below
    node.below = None
