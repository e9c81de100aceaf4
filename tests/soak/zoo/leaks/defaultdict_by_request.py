# SPDX-License-Identifier: Apache-2.0
"""A defaultdict keyed by request id: asking is enough to add."""

from __future__ import annotations

from collections import defaultdict

PATH = "defaultdict_by_request.SERVICE.tokens"


class Service:
    def __init__(self) -> None:
        self.tokens = defaultdict(list)


SERVICE = Service()


def step() -> None:
    SERVICE.tokens[len(SERVICE.tokens)].append(1)
