# SPDX-License-Identifier: Apache-2.0
"""A chain of nodes, the newest first; no container grows."""

from __future__ import annotations

PATH = "linked_list.SERVICE.head"
NEEDS = "populations"


class Node:
    def __init__(self, below: Node | None) -> None:
        self.below = below


class Service:
    def __init__(self) -> None:
        self.head: Node | None = None


SERVICE = Service()


def step() -> None:
    SERVICE.head = Node(SERVICE.head)
