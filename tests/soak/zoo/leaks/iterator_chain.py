# SPDX-License-Identifier: Apache-2.0
"""Each answer is chained to what was not read of those before: iterators below iterators, no container."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

PATH = "iterator_chain.SERVICE.unread"
NEEDS = "populations"


class Service:
    def __init__(self) -> None:
        self.unread: Iterator[str] = iter(())


SERVICE = Service()


def step() -> None:
    SERVICE.unread = itertools.chain(map(str, SERVICE.unread), (str(len("answer") + 1),))
