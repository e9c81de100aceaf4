# SPDX-License-Identifier: Apache-2.0
"""A variable of the environment for each request."""

from __future__ import annotations

import itertools
import os

PATH = "posix.environ", "os.environ._data"

NUMBERS = itertools.count()


def step() -> None:
    os.environ[f"REQUEST_{next(NUMBERS)}"] = "1"
