# SPDX-License-Identifier: Apache-2.0
"""How a server that somebody else runs is watched: every flag of `vllm-soak attach`, checked before anything starts."""

from __future__ import annotations

import math
from dataclasses import dataclass

from vllm_soak.errors import UsageError
from vllm_soak.plan import FEWEST_ROUNDS, parse_duration

MINUTE, DAY = 60.0, 86_400.0
# Of a long watch: enough for a slope.
MOST_WINDOWS = 24
# So many windows in a row without a finished request, and there is nobody to wait for.
MOST_IDLE = 10


@dataclass(frozen=True, slots=True)
class Windows:
    """How a server is watched.

    Args:
        url: Its address.
        pid: Its process, or None to look for it.
        rounds: Windows that are compared, at least.
        max_rounds: Windows at most, when the answer is not clear after `rounds`.
        interval: Seconds of a window; None for a minute, or for a 24th of `duration` where that is longer.
        duration: Watch for so long, whatever is clear by then; for example 12h.
        max_pause_ms: Longest time that a census may stop a process at once, in milliseconds.
    """

    url: str
    pid: int | None = None
    rounds: int = 5
    max_rounds: int = 15
    interval: float | None = None
    duration: str | None = None
    max_pause_ms: float = 5.0

    def check(self) -> None:
        """Refuse what cannot lead to an answer.

        Raises:
            UsageError: A value is out of range.
        """
        if self.rounds < FEWEST_ROUNDS:
            raise UsageError(f"--rounds {self.rounds} is too few for a trend", f"use {FEWEST_ROUNDS} or more")
        if self.interval is not None and not 1 <= self.interval <= DAY:
            raise UsageError(f"--interval {self.interval:g} is out of range", "use 1 second to a day (86400)")
        if self.max_pause_ms != 0 and not 0.1 <= self.max_pause_ms <= 1000:
            raise UsageError(f"--max-pause-ms {self.max_pause_ms:g} is no pause", "use 0.1 to 1000, or 0 for no limit")
        if self.duration is not None:
            parse_duration(self.duration)

    @property
    def window(self) -> float:
        """Seconds of a window."""
        if self.interval is not None:
            return self.interval
        return max(MINUTE, self.seconds / MOST_WINDOWS) if self.duration else MINUTE

    @property
    def seconds(self) -> float:
        """Time to watch; infinite when the answer decides."""
        return parse_duration(self.duration) if self.duration else math.inf

    @property
    def patience(self) -> float:
        """Windows in a row without a finished request that are waited for; a time that was given is waited out."""
        return math.inf if self.duration else MOST_IDLE
