# SPDX-License-Identifier: Apache-2.0
"""A list on the class, shared by all its instances."""

from __future__ import annotations

from typing import ClassVar

PATH = "class_level_list.Service.seen"


class Service:
    seen: ClassVar[list[object]] = []

    def handle(self) -> None:
        self.seen.append(object())


def step() -> None:
    Service().handle()
