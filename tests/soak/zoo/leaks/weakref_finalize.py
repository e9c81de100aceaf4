# SPDX-License-Identifier: Apache-2.0
"""A finalizer registered on a long-lived object, once a request."""

from __future__ import annotations

import weakref

PATH = "weakref.finalize._registry"


class Service:
    pass


SERVICE = Service()


def step() -> None:
    weakref.finalize(SERVICE, len, "closed")
