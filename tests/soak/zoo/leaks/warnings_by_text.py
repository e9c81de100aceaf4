# SPDX-License-Identifier: Apache-2.0
"""A warning with a text of its own for every request: the module's record of warnings keeps them."""

from __future__ import annotations

import itertools

PATH = "warnings_by_text.__warningregistry__"

IDS = itertools.count()


def step() -> None:
    registry = globals().setdefault("__warningregistry__", {})
    registry[f"request {next(IDS)} is late", UserWarning, 20] = True
