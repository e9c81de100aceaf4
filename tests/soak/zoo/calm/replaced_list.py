# SPDX-License-Identifier: Apache-2.0
"""A list that is replaced by another of the same length."""

from __future__ import annotations


class Service:
    def __init__(self) -> None:
        self.block_table = list(range(1000))


SERVICE = Service()


def step() -> None:
    SERVICE.block_table = [n + 1 for n in SERVICE.block_table]
