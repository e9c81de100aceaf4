# SPDX-License-Identifier: Apache-2.0
"""An array of numbers, whose buffer grows ahead of its length."""

from __future__ import annotations

from array import array

PATH = "array_growth.SERVICE.samples"


class Service:
    def __init__(self) -> None:
        self.samples = array("d")


SERVICE = Service()


def step() -> None:
    SERVICE.samples.extend([0.0] * 100)
