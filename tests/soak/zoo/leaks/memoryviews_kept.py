# SPDX-License-Identifier: Apache-2.0
"""Views that each pin a buffer."""

from __future__ import annotations

PATH = "memoryviews_kept.SERVICE.views"


class Service:
    def __init__(self) -> None:
        self.views = {}


SERVICE = Service()


def step() -> None:
    SERVICE.views[len(SERVICE.views)] = memoryview(bytes(1000))[:10]
