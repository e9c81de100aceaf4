# SPDX-License-Identifier: Apache-2.0
"""A class made for each request."""

from __future__ import annotations

PATH = "classes_by_request.SERVICE.models"


class Service:
    def __init__(self) -> None:
        self.models = {}


SERVICE = Service()


def step() -> None:
    name = f"Model{len(SERVICE.models)}"
    SERVICE.models[name] = type(name, (), {})
