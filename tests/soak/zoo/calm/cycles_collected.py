# SPDX-License-Identifier: Apache-2.0
"""Small cycles that the collector frees."""

from __future__ import annotations


class Node:
    def __init__(self) -> None:
        self.itself = self


def step() -> None:
    for _ in range(100):
        Node()
