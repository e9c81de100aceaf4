# SPDX-License-Identifier: Apache-2.0
"""A class for each request, all of one name, and an instance of it that is kept."""

from __future__ import annotations

PATH = "classes_with_instances.SERVICE.kept"


class Service:
    def __init__(self) -> None:
        self.kept: list[object] = []

    def serve(self) -> None:
        class Answer:
            pass

        self.kept.append(Answer())


SERVICE = Service()


def step() -> None:
    SERVICE.serve()
