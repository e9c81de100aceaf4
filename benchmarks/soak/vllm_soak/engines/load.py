# SPDX-License-Identifier: Apache-2.0
"""Offers requests to an engine in this process, as a closed or an open loop, and counts.

Nothing about a request outlives its load: latency goes into a histogram of fixed size, so the host
never grows beside the engine it watches.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from vllm_soak.sampling.histogram import Histogram
from vllm_soak.workloads.arrival import intervals
from vllm_soak.workloads.workload import Workload

# Request id, tokens generated in this step, whether the request is finished.
Finished = tuple[str, int, bool]
PROGRESS_SECONDS = 0.25
LONGEST_NAP = 0.05


class Engine(Protocol):
    """What a driver offers to the load."""

    vocab_size: int

    def submit(self, request_id: str, prompt: list[int], output_len: int) -> None:
        """Queue one request."""

    def step(self) -> list[Finished]:
        """Run one batch."""
        ...

    def busy(self) -> bool:
        """Whether a step would do anything."""
        ...

    def facts(self) -> dict[str, Any]:
        """What is known of the engine, for the report."""
        ...


@dataclass(frozen=True)
class LoadOrder:
    """The arguments of a `load` command.

    Args:
        requests: Requests to complete.
        first: Index of the first; indices name prompts and seed arrivals.
        max_concurrency: Greatest number in flight.
        request_rate: Requests offered per second; infinity for a closed loop.
        burstiness: Shape of the arrivals' gamma distribution.
    """

    requests: int
    first: int = 0
    max_concurrency: int = 64
    request_rate: float = float("inf")
    burstiness: float = 1.0

    @classmethod
    def read(cls, command: Mapping[str, Any]) -> LoadOrder:
        """From a command of the control channel; an absent or null value is the default."""
        kinds = {"requests": int, "first": int, "max_concurrency": int, "request_rate": float, "burstiness": float}
        given = {name: kind(command[name]) for name, kind in kinds.items() if command.get(name) is not None}
        return cls(**given)


class Load:
    """One load from the first request to the idle engine.

    Args:
        engine: A driver's engine.
        workload: Source of prompts.
        order: How many requests, and how fast.
        progress: Takes requests done and requests wanted, a few times a second, or after every step that takes
            longer: a sign of life, also while no request is finished.
    """

    def __init__(
        self, engine: Engine, workload: Workload, order: LoadOrder, progress: Callable[[int, int], None]
    ) -> None:
        self.engine = engine
        self.workload = workload
        self.order = order
        self.progress = progress
        self.latency = Histogram()
        self.done = self.sent = self.prompt_tokens = self.output_tokens = 0
        self._in_flight: dict[str, float] = {}
        self._gaps = intervals(order.request_rate, order.burstiness, order.first)
        self._next_at = 0.0
        self._next_progress = 0.0

    def run(self) -> dict[str, Any]:
        """Complete all requests, then step until the engine is idle."""
        started = time.perf_counter()
        self._next_at = started + next(self._gaps)
        while self.done < self.order.requests:
            now = time.perf_counter()
            self._send(now)
            if self._in_flight:
                self._step()
            else:
                time.sleep(min(LONGEST_NAP, max(0.0, self._next_at - now)))
            self._tell(now)
        seconds = time.perf_counter() - started
        while self.engine.busy():
            self.engine.step()
            self._tell(time.perf_counter())
        return self._result(seconds)

    def _send(self, now: float) -> None:
        while (
            self._next_at <= now
            and self.sent < self.order.requests
            and len(self._in_flight) < self.order.max_concurrency
        ):
            index = self.order.first + self.sent
            prompt = self.workload.prompt(index)
            request_id = f"soak-{index}"
            self.prompt_tokens += len(prompt)
            self.engine.submit(request_id, prompt, self.workload.output_len)
            self._in_flight[request_id] = now
            self.sent += 1
            self._next_at += next(self._gaps)

    def _step(self) -> None:
        outputs = self.engine.step()
        now = time.perf_counter()
        for request_id, tokens, finished in outputs:
            self.output_tokens += tokens
            if finished:
                self.latency.record(now - self._in_flight.pop(request_id))
                self.done += 1
                self._hand_on(request_id)

    def _hand_on(self, request_id: str) -> None:
        """Give a reply to a workload that goes on from it; an engine that keeps replies is relieved of it anyway."""
        reply = getattr(self.engine, "reply", None)
        tokens = reply(request_id) if reply else []
        if answered := getattr(self.workload, "answered", None):
            answered(int(request_id.rpartition("-")[2]), tokens)

    def _tell(self, now: float) -> None:
        if now >= self._next_progress:
            self._next_progress = now + PROGRESS_SECONDS
            self.progress(self.done, self.order.requests)

    def _result(self, seconds: float) -> dict[str, Any]:
        return {
            "requests": self.done,
            "seconds": seconds,
            "prompt_tokens": self.prompt_tokens,
            "output_tokens": self.output_tokens,
            "latency": self.latency.snapshot(),
        }
