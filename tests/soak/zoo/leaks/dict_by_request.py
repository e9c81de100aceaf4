# SPDX-License-Identifier: Apache-2.0
"""Results by request id, never removed."""

from __future__ import annotations

PATH = "dict_by_request.SERVICE.done"


class Service:
    def __init__(self) -> None:
        self.done = {}


SERVICE = Service()


def step() -> None:
    SERVICE.done[f"request-{len(SERVICE.done)}"] = object()
