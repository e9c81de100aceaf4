# SPDX-License-Identifier: Apache-2.0
"""How a census shares the interpreter with the program."""

from __future__ import annotations

import time
from typing import NamedTuple

# A census in slices works for one part in this many: 2.6 % of the time.
_PARTS = 38
# Work of less than this is not worth a rest of its own, in seconds: each rest leaves cold caches on both sides.
_LEAST = 0.004


class Pace(NamedTuple):
    """How a census shares the interpreter with the program.

    Args:
        max_pause_ms: Longest time that the walk holds the interpreter at once, in milliseconds; 0 for the
            whole census in one piece.
        seconds: When the walk gives up, and then what is named no longer rests.
    """

    max_pause_ms: float = 0.0
    seconds: float = 60.0

    def rest(self, worked: float) -> float:
        """Seconds that are left to the program after so many seconds of work."""
        return (_PARTS - 1) * worked if self.max_pause_ms > 0 else 0.0


WHOLE = Pace()


class Turns:
    """The program's turns and the census's: after each piece of work the census rests, in proportion.

    Args:
        pace: The proportion.
    """

    def __init__(self, pace: Pace) -> None:
        self._pace = pace
        self._ends = time.monotonic() + pace.seconds
        self._since = time.thread_time()

    def rest(self, worked: float) -> None:
        """Rest after a piece of work of so many seconds, for which the interpreter was held."""
        pause = self._pace.rest(worked)
        if pause > 0 and time.monotonic() < self._ends:
            time.sleep(pause)
        self._since = time.thread_time()

    def between(self) -> None:
        """Between two pieces of work in Python: rest after what this thread has worked since the last rest."""
        worked = time.thread_time() - self._since
        if worked >= _LEAST:
            self.rest(worked)

    def work_aside(self) -> None:
        """What was done since the last rest did not hold the interpreter."""
        self._since = time.thread_time()
