# SPDX-License-Identifier: Apache-2.0
"""The cache of compiled patterns, on the way to its 512 entries."""

from __future__ import annotations

import itertools
import re

IDS = itertools.count()


def step() -> None:
    re.match(f"request-{next(IDS)}", "request-1")
