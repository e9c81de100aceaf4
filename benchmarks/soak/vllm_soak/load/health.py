# SPDX-License-Identifier: Apache-2.0
"""Whether the server still lives, by what becomes of requests."""

from __future__ import annotations

import math

from vllm_soak.load.answer import Answer
from vllm_soak.load.failure import DeadServerError, dead, hung

FIRST_PAUSE, LONGEST_PAUSE = 0.05, 1.0
# A slow open loop may fail one request and have the next one answered: that many in a row are no accident.
FEWEST_FAILURES = 3


class Health:
    """Watches for a server that does nothing but fail, or nothing at all.

    Args:
        url: The server's address, for messages.
        give_up: Seconds of nothing but failures that are borne.
        stall: Seconds without a byte, while requests wait, that are borne.
    """

    def __init__(self, url: str, give_up: float, stall: float) -> None:
        self._url = url
        self._give_up = give_up
        self._stall = stall
        self._failing_since = self._failed_last = math.inf
        self._failures = 0
        self._last = ("", "")
        self._waiting_since = 0.0
        self._sent: dict[int, float] = {}  # in order of time, so the first is the oldest

    @property
    def in_flight(self) -> int:
        """Requests that wait for their end."""
        return len(self._sent)

    def sent(self, index: int, now: float) -> None:
        """A request goes out."""
        if not self._sent:
            self._waiting_since = now
        self._sent[index] = now

    def ended(self, index: int, answer: Answer, now: float) -> None:
        """A request has ended; one that we gave up ourselves says nothing of the server."""
        del self._sent[index]
        if answer.outcome in ("completed", "rejected"):
            self._failing_since, self._failures = math.inf, 0
        elif answer.outcome == "failed":
            self._failing_since = min(now, self._failing_since)
            self._failed_last = now
            self._failures += 1
            self._last = (answer.kind, answer.text)

    @property
    def pause(self) -> float:
        """Seconds to wait after a failure before the next request: a dead server shall not be stormed."""
        return min(LONGEST_PAUSE, FIRST_PAUSE * (1 + self._failures / 10))

    def verdict(self, now: float, last_byte: float) -> DeadServerError | None:
        """Why the load cannot go on, or None.

        Args:
            now: By `time.perf_counter`, as in all other methods.
            last_byte: When anything was last received.
        """
        if self._failures >= FEWEST_FAILURES and not self._older_waits():
            failing = self._failed_last - self._failing_since
            if failing >= self._give_up:
                return dead(self._url, failing, *self._last)
        silent = now - max(last_byte, self._waiting_since)
        if self._sent and silent >= self._stall:
            return hung(self._url, silent, self.in_flight)
        return None

    def _older_waits(self) -> bool:
        """Whether a request from before the first failure is still at work: the server may answer it well."""
        return next(iter(self._sent.values()), math.inf) < self._failing_since
