# SPDX-License-Identifier: Apache-2.0
"""Reads one streamed answer, event by event."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator

from vllm_soak.load.answer import Answer, BadAnswerError, first_choice, parse, read_usage, reply_of
from vllm_soak.load.stream import DONE, EventSplitter


class StreamedAnswer:
    """Takes chunks until the stream says that it is done.

    Args:
        answer: What is filled in.
        started: When the request began, by `time.perf_counter`.
        keep_reply: Whether the text is wanted: every event must be parsed then.
        leave_after: Events after which we close the connection; None to read to the end.
    """

    def __init__(self, answer: Answer, started: float, *, keep_reply: bool, leave_after: int | None) -> None:
        self.answer = answer
        self.done = False
        self._started = started
        self._keep_reply = keep_reply
        self._leave_after = leave_after
        self._splitter = EventSplitter()
        self._events = 0
        self._last = 0.0
        self._replies: list[str] = []

    async def read(self, chunks: AsyncIterator[bytes]) -> None:
        """Read to the end, or until it is time to leave.

        Raises:
            BadAnswerError: The stream reports an error, or ends without saying that it is done.
        """
        async for chunk in chunks:
            self._take(self._splitter.feed(chunk))
            if self._leave_after is not None and not self.done and self._events >= self._leave_after:
                self.answer.outcome = "aborted"
                break
        else:
            if not self.done:
                raise BadAnswerError("closed", f"the stream ended after {self._events} events without [DONE]")
        self.answer.output_tokens = self.answer.output_tokens or self._events
        self.answer.reply = "".join(self._replies)

    def _take(self, events: list[bytes]) -> None:
        before = self._events
        for event in events:
            self._event(event)
        self._clock(self._events - before)

    def _event(self, event: bytes) -> None:
        if event == DONE:
            self.done = True
            return
        if event.startswith(b'{"error"'):
            raise BadAnswerError("error-event", event.decode(errors="replace"))
        usage = b'"completion_tokens"' in event
        if not usage:
            self._events += 1
        if usage or self._keep_reply:
            self._parsed(event)

    def _parsed(self, event: bytes) -> None:
        message = parse(event)
        read_usage(self.answer, message)
        choices = message.get("choices")
        if self._keep_reply and isinstance(choices, list):
            self._replies += [reply_of(one, "delta") for one in choices if first_choice(one)]

    def _clock(self, events: int) -> None:
        """Note when a chunk's events came; those that came together share the time since those before."""
        if not events:
            return
        now = time.perf_counter()
        if self.answer.first_token is None:
            self.answer.first_token = now - self._started
            events -= 1
        else:
            self.answer.gaps += [(now - self._last) / events] * events
        self._last = now
