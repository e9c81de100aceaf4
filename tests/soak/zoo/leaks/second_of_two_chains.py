# SPDX-License-Identifier: Apache-2.0
"""Two services with equal chains of nodes; the second one grows."""

from __future__ import annotations

PATH = "second_of_two_chains.SECOND.head"
NEEDS = "populations"
MOST_ROUNDS = 15  # it bears its name from the second census on


class Node:
    def __init__(self, below: Node | None) -> None:
        self.below = below


class Service:
    def __init__(self) -> None:
        self.head: Node | None = None

    def add(self) -> None:
        self.head = Node(self.head)


FIRST, SECOND = Service(), Service()
for _ in range(300):
    FIRST.add()
    SECOND.add()


def step() -> None:
    SECOND.add()
