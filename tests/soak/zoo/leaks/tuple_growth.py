# SPDX-License-Identifier: Apache-2.0
"""A tuple that is replaced by a longer one."""

from __future__ import annotations

PATH = ("tuple_growth.SERVICE.versions", "tuple_growth.SERVICE.versions[i]")
NEEDS = "populations"


class Service:
    def __init__(self) -> None:
        self.versions = ()


SERVICE = Service()


def step() -> None:
    SERVICE.versions = (*SERVICE.versions, object())
