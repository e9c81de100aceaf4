# SPDX-License-Identifier: Apache-2.0
"""Ids that were seen, for ever."""

from __future__ import annotations

PATH = "set_of_ids.SERVICE.seen"


class Service:
    def __init__(self) -> None:
        self.seen = set()


SERVICE = Service()


def step() -> None:
    SERVICE.seen.add(f"id-{len(SERVICE.seen)}")
