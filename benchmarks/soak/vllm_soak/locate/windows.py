# SPDX-License-Identifier: Apache-2.0
"""How long a running process is looked at, and how closely."""

from __future__ import annotations

from dataclasses import dataclass

from vllm_soak.errors import UsageError
from vllm_soak.verdict.growth import FEWEST_ROUNDS

# Windows before those that count: a container is named at the end of the first, and followed from there.
WARM_UP = 1
# Glances in a window, and the least time between two of them in seconds: a glance costs milliseconds.
GLANCES = 10
BETWEEN_GLANCES = 0.5


@dataclass(frozen=True, slots=True)
class Windows:
    """How long to look.

    Args:
        rounds: Windows that are compared, at least.
        interval: Seconds of a window, between two censuses.
        max_rounds: Windows at most, when the answer is not clear after `rounds`.
        max_pause_ms: Longest time that a census may stop the process at once, in milliseconds; 0 for no limit.
        show_contents: Show numbers and the beginning of texts among the samples of new entries.
    """

    rounds: int = 5
    interval: float = 10.0
    max_rounds: int = 15
    max_pause_ms: float = 5.0
    show_contents: bool = False

    def check(self) -> None:
        """Refuse what cannot lead to an answer.

        Raises:
            UsageError: A value is out of range.
        """
        if self.rounds < FEWEST_ROUNDS:
            raise UsageError(f"--rounds {self.rounds} is too few for a trend", f"use {FEWEST_ROUNDS} or more")
        if not 0.1 <= self.interval <= 86400:
            raise UsageError(f"--interval {self.interval:g} is out of range", "use 0.1 seconds to a day")
        if self.max_pause_ms != 0 and not 0.1 <= self.max_pause_ms <= 1000:
            raise UsageError(f"--max-pause-ms {self.max_pause_ms:g} is no pause", "use 0.1 to 1000, or 0 for no limit")

    @property
    def most(self) -> int:
        """Windows that are compared, at most."""
        return max(self.rounds, self.max_rounds)

    @property
    def pauses(self) -> list[float]:
        """Seconds to wait before each glance of a window; they add up to the window."""
        count = max(1, min(GLANCES, int(self.interval / BETWEEN_GLANCES)))
        return [self.interval / count] * count
