# SPDX-License-Identifier: Apache-2.0
"""How a walk shares the interpreter with the program."""

from __future__ import annotations

from typing import NamedTuple

# A sliced walk works for one part in this many: 2.8 % of the time, and some 10 s for a million objects. What is named
# at its end comes on top.
_PARTS = 36


class Pace(NamedTuple):
    """How a walk shares the interpreter with the program.

    Args:
        max_pause_ms: Longest time that the walk holds the interpreter at once, in milliseconds; 0 for the
            whole walk in one piece.
        seconds: When the walk gives up.
    """

    max_pause_ms: float = 0.0
    seconds: float = 60.0

    @property
    def rest(self) -> float:
        """Seconds that are left to the program between two slices."""
        return (_PARTS - 1) * self.max_pause_ms / 1000


WHOLE = Pace()
