# SPDX-License-Identifier: Apache-2.0
"""Strings that are interned and dropped."""

from __future__ import annotations

import itertools
import sys

IDS = itertools.count()


def step() -> None:
    sys.intern(f"request-{next(IDS)}")
