# SPDX-License-Identifier: Apache-2.0
"""Modules made at run time and registered for import."""

from __future__ import annotations

import itertools
import sys
import types

PATH = "sys.modules"

IDS = itertools.count()


def step() -> None:
    name = f"plugin_{next(IDS)}"
    sys.modules[name] = types.ModuleType(name)
