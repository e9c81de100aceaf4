# SPDX-License-Identifier: Apache-2.0
"""A transcript in memory that nobody truncates."""

from __future__ import annotations

import io

PATH = "bytes_io.TRANSCRIPT"
NEEDS = "sizes"
MOST_ROUNDS = 15  # it is enlarged by an eighth at a time

TRANSCRIPT = io.BytesIO()


def step() -> None:
    TRANSCRIPT.write(b"a line of the transcript\n" * 20)
