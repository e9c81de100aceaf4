# SPDX-License-Identifier: Apache-2.0
"""A connection looks for references to dead cursors once in two hundred."""

from __future__ import annotations

import sqlite3

CONNECTION = sqlite3.connect(":memory:")


def step() -> None:
    CONNECTION.execute("select 1").close()
