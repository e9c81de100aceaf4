# SPDX-License-Identifier: Apache-2.0
"""Attributes added to an object at run time."""

from __future__ import annotations

import itertools

PATH = ("instance_setattr.SERVICE", "instance_setattr.SERVICE.__dict__")


class Service:
    def __init__(self) -> None:
        # More names than the interpreter keeps outside of a dictionary.
        for at in range(40):
            setattr(self, f"setting_{at}", at)


SERVICE = Service()
IDS = itertools.count()


def step() -> None:
    setattr(SERVICE, f"result_{next(IDS)}", object())
