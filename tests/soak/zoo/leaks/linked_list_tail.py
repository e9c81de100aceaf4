# SPDX-License-Identifier: Apache-2.0
"""A chain of nodes that grows at its far end."""

from __future__ import annotations

PATH = "linked_list_tail.SERVICE.first"
NEEDS = "populations"


class Node:
    def __init__(self) -> None:
        self.next: Node | None = None


class Service:
    def __init__(self) -> None:
        self.first = self.last = Node()


SERVICE = Service()


def step() -> None:
    SERVICE.last.next = Node()
    SERVICE.last = SERVICE.last.next
