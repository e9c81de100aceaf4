# SPDX-License-Identifier: Apache-2.0
"""A dict that a property made once, and that stays as long as the object."""

from __future__ import annotations

import functools
import itertools

PATH = "cached_property.SERVICE.answers"


class Service:
    @functools.cached_property
    def answers(self) -> dict[int, object]:
        return {}


SERVICE = Service()
NUMBERS = itertools.count()


def step() -> None:
    SERVICE.answers[next(NUMBERS)] = object()
