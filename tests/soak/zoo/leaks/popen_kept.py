# SPDX-License-Identifier: Apache-2.0
"""Child processes that ended, kept as objects."""

from __future__ import annotations

import subprocess

PATH = "popen_kept.SERVICE.children"


class Service:
    def __init__(self) -> None:
        self.children: list[subprocess.Popen[bytes]] = []


SERVICE = Service()


def step() -> None:
    child = subprocess.Popen(["true"])
    child.wait()
    SERVICE.children.append(child)
