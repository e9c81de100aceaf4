# SPDX-License-Identifier: Apache-2.0
"""The last lines of a log that somebody else writes."""

from __future__ import annotations

from pathlib import Path

# Bytes read from the end of a log; fifteen lines of an engine's log rarely need more.
TAIL_BYTES = 64 * 1024


def tail(path: Path, count: int) -> list[str]:
    """The last `count` lines of a log; an absent log has none."""
    try:
        with path.open("rb") as source:
            source.seek(0, 2)
            source.seek(max(0, source.tell() - TAIL_BYTES))
            text = source.read().decode(errors="replace")
    except OSError:
        return []
    return text.splitlines()[-count:]
