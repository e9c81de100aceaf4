# SPDX-License-Identifier: Apache-2.0
"""One branch of itertools.tee that is never read; its blocks hang on both branches, the newest on the fast one."""

from __future__ import annotations

import itertools

PATH = "tee_lagging.SERVICE.slow"
NEEDS = "populations"


class Service:
    def __init__(self) -> None:
        self.fast, self.slow = itertools.tee(object() for _ in itertools.count())


SERVICE = Service()


def step() -> None:
    for _ in range(100):
        next(SERVICE.fast)
