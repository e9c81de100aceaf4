# SPDX-License-Identifier: Apache-2.0
"""Copies of the context, one a request."""

from __future__ import annotations

import contextvars

PATH = "contexts_kept.SERVICE.contexts"


class Service:
    def __init__(self) -> None:
        self.contexts = []


SERVICE = Service()


def step() -> None:
    SERVICE.contexts.append(contextvars.copy_context())
