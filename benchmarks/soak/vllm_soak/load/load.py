# SPDX-License-Identifier: Apache-2.0
"""One load: as many workers as requests may be in flight, each sending one request after the other.

With a closed loop a worker takes the next request at once; with an open loop it waits for that request's time of
arrival. No task is made for a request, and nothing of a request outlives it.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

from vllm_soak.load.answer import Answer
from vllm_soak.load.exchange import Exchange, open_session
from vllm_soak.load.failure import DeadServerError
from vllm_soak.load.health import Health
from vllm_soak.load.offer import Source
from vllm_soak.load.order import LoadOrder, StartOrder
from vllm_soak.load.pulse import Pulse
from vllm_soak.load.strain import Strain
from vllm_soak.load.tally import Tally, total
from vllm_soak.workloads.arrival import intervals

# Less is what timers are late anyway.
DELAYED_SECONDS = 0.005


class Load:
    """One load from the first request to the last answer.

    Args:
        start: Whom to load.
        source: Makes the requests.
        order: How many, and how fast.
        emit: Takes the load's events (`progress` and `second`).
    """

    def __init__(
        self, start: StartOrder, source: Source, order: LoadOrder, emit: Callable[[dict[str, Any]], None]
    ) -> None:
        self.start = start
        self.source = source
        self.order = order
        self.parts = [Tally() for _ in source.mix.parts]
        self.health = Health(start.url, start.give_up, start.stall)
        self.strain = Strain()
        self.pulse = Pulse(self, emit)
        self.began = time.perf_counter()
        self.sent = 0
        self._gaps = intervals(order.request_rate, order.burstiness, order.first)
        self._next_at = 0.0
        self._delayed = 0
        self._longest_delay = 0.0
        self._interrupted = False
        self._workers: list[asyncio.Task[None]] = []
        self._ended = 0.0

    async def run(self) -> dict[str, Any]:
        """Offer everything and wait for all answers.

        Returns:
            The fields of `loaded`.

        Raises:
            DeadServerError: The server fails every request, or sends nothing; `loaded` says what was done.
        """
        self.began = time.perf_counter()
        self._next_at = self.began + next(self._gaps)
        async with open_session(self.start.timeout) as session:
            exchange = Exchange(session, self.start.url)
            self._workers = [asyncio.create_task(self._work(exchange)) for _ in range(self._width())]
            dead = await self._wait(exchange)
        if dead is not None:
            dead.loaded = self.loaded()
            raise dead
        return self.loaded()

    def interrupt(self) -> None:
        """Give up what is in flight and end; `run` then returns what was done."""
        self._interrupted = True
        for worker in self._workers:
            worker.cancel()

    def loaded(self) -> dict[str, Any]:
        """What was done so far."""
        names = (part.name for part in self.source.mix.parts)
        rows = zip(names, self.parts, strict=True)
        return {
            **total(self.parts),
            "seconds": (self._ended or time.perf_counter()) - self.began,
            "delayed": self._delayed,
            "longest_delay": self._longest_delay,
            "parts": {name: {**one.counts(), "latency": one.latency.snapshot()} for name, one in rows},
            "client": self.strain.whole(),
            "interrupted": self._interrupted,
        }

    async def _wait(self, exchange: Exchange) -> DeadServerError | None:
        """Wait for all workers, beating the pulse meanwhile."""
        watch = asyncio.create_task(self.pulse.beat(exchange))
        tasks: set[asyncio.Task[Any]] = {watch, *self._workers}
        try:
            while tasks - {watch} and not watch.done():
                done, tasks = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
                for one in done:
                    _raise_failure(one)
            dead = watch.result() if watch.done() else None
        finally:
            await _cancel([watch, *self._workers])
            self._ended = time.perf_counter()
        self.pulse.last()
        return dead

    def _width(self) -> int:
        return int(min(self.order.max_concurrency, self.order.requests))

    async def _work(self, exchange: Exchange) -> None:
        while (place := self._take()) is not None:
            index, at = place
            if at > time.perf_counter():
                await asyncio.sleep(at - time.perf_counter())
            answer = await self._one(exchange, index)
            if answer.outcome == "failed":
                await asyncio.sleep(self.health.pause)

    def _take(self) -> tuple[int, float] | None:
        """The next request's index and time; None when there is none left."""
        at = self._next_at
        now = time.perf_counter()
        if self.sent >= self.order.requests or max(at, now) > self.began + self.order.seconds:
            return None
        index = self.order.first + self.sent
        self.sent += 1
        if self.order.request_rate != float("inf"):
            self._next_at += next(self._gaps)
            self._note_delay(now - at)
        return index, at

    def _note_delay(self, seconds: float) -> None:
        if seconds > DELAYED_SECONDS:
            self._delayed += 1
            self._longest_delay = max(self._longest_delay, seconds)

    async def _one(self, exchange: Exchange, index: int) -> Answer:
        offer = self.source.offer(index)
        answer = Answer("aborted")
        self.health.sent(index, time.perf_counter())
        try:
            answer = await exchange.run(offer)
        finally:  # also when this worker is cancelled: the request was offered
            self.health.ended(index, answer, time.perf_counter())
            self.parts[offer.part].add(answer, offer.prompt_tokens)
            self.pulse.tally.add(answer, offer.prompt_tokens)
        if answer.outcome == "completed":
            self.source.answered(offer, answer.reply)
        return answer


def _raise_failure(task: asyncio.Task[Any]) -> None:
    """Raise what a task failed with: a defect of ours, never the server's."""
    if not task.cancelled() and task.exception() is not None:
        task.result()


async def _cancel(tasks: list[asyncio.Task[Any]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
