# SPDX-License-Identifier: Apache-2.0
"""Names added to a module at run time."""

from __future__ import annotations

import itertools
import sys

PATH = "module_setattr"

IDS = itertools.count()


def step() -> None:
    setattr(sys.modules[__name__], f"result_{next(IDS)}", object())
