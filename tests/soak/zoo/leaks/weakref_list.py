# SPDX-License-Identifier: Apache-2.0
"""Weak references to requests that are gone: the references stay."""

from __future__ import annotations

import weakref

PATH = "weakref_list.SERVICE.observers"


class Service:
    def __init__(self) -> None:
        self.observers = []


SERVICE = Service()


def step() -> None:
    SERVICE.observers.append(weakref.ref(Service(), id))
