# SPDX-License-Identifier: Apache-2.0
"""Each line of a module warns once: its record has an entry a line."""

from __future__ import annotations

import itertools

LINES = itertools.count(1)


def step() -> None:
    registry = globals().setdefault("__warningregistry__", {})
    registry["deprecated", UserWarning, next(LINES) * 3] = True
