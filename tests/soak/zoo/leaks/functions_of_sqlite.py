# SPDX-License-Identifier: Apache-2.0
"""A function for each request that only the database's own code holds."""

from __future__ import annotations

import itertools
import sqlite3

PATH = "<no root: function>"
NEEDS = "populations"

DATABASE = sqlite3.connect(":memory:")
NUMBERS = itertools.count()


def step() -> None:
    DATABASE.create_function(f"of_request_{next(NUMBERS)}", 1, lambda one: one)
