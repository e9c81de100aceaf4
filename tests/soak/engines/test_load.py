# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import gc
import time
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from vllm_soak.engines.load import PROGRESS_SECONDS, Finished, Load, LoadOrder
from vllm_soak.workloads.unique import Unique


class Queue:
    """A small engine of its own: serves at most `width` requests a step, one token each."""

    vocab_size = 512

    def __init__(self, width: int = 4) -> None:
        self.width = width
        self.waiting: list[list[Any]] = []
        self.deepest = 0
        self.seen: list[str] = []
        self.untold = 0

    def submit(self, request_id: str, prompt: list[int], output_len: int) -> None:
        assert len(prompt) == 20
        self.waiting.append([request_id, output_len])
        self.seen.append(request_id)
        self.deepest = max(self.deepest, len(self.waiting))

    def step(self) -> list[Finished]:
        self.untold = 0
        outputs = []
        for request in self.waiting[: self.width]:
            request[1] -= 1
            outputs.append((request[0], 1, request[1] == 0))
        self.waiting = [request for request in self.waiting if request[1]]
        self.untold = sum(finished for _, _, finished in outputs)
        return outputs

    def busy(self) -> bool:
        return bool(self.waiting or self.untold)

    def facts(self) -> dict[str, Any]:
        return {}


def workload(output_len: int = 1) -> Unique:
    return Unique(input_len=20, output_len=output_len, vocab_size=512)


def ignore(_done: int, _total: int) -> None:
    pass


@settings(deadline=None)
@given(st.integers(1, 60), st.integers(0, 1000), st.integers(1, 20), st.integers(1, 4), st.integers(1, 5))
def test_every_request_is_completed_once_and_counted(
    requests: int, first: int, concurrency: int, output_len: int, width: int
) -> None:
    engine = Queue(width)
    result = Load(engine, workload(output_len), LoadOrder(requests, first, concurrency), ignore).run()
    assert result["requests"] == requests
    assert result["prompt_tokens"] == 20 * requests
    assert result["output_tokens"] == output_len * requests
    assert sum(result["latency"]["counts"]) == requests
    assert engine.seen == [f"soak-{index}" for index in range(first, first + requests)]
    assert engine.deepest <= concurrency


def test_the_engine_is_idle_at_the_end() -> None:
    engine = Queue()
    Load(engine, workload(), LoadOrder(10), ignore).run()
    assert not engine.busy()


def test_an_open_loop_takes_as_long_as_its_arrivals() -> None:
    started = time.perf_counter()
    result = Load(Queue(), workload(), LoadOrder(40, request_rate=200.0), ignore).run()
    assert result["requests"] == 40
    # 40 arrivals of mean 5 ms: the sum of the seeded intervals is fixed, well above a closed loop.
    assert time.perf_counter() - started >= 0.1


def test_progress_ends_below_or_at_the_total() -> None:
    told: list[tuple[int, int]] = []
    Load(Queue(), workload(), LoadOrder(30), lambda done, total: told.append((done, total))).run()
    assert told
    assert all(0 <= done <= total == 30 for done, total in told)


class Slow(Queue):
    """An engine whose every step takes longer than the time between two signs of life."""

    steps = 0

    def step(self) -> list[Finished]:
        self.steps += 1
        time.sleep(PROGRESS_SECONDS * 1.2)
        return super().step()


def test_a_single_long_request_gives_a_sign_of_life_with_every_step() -> None:
    told: list[tuple[int, int]] = []
    engine = Slow()
    Load(engine, workload(output_len=4), LoadOrder(1), lambda done, total: told.append((done, total))).run()
    assert engine.steps == 5, "four tokens, and one step that tells of the end"
    assert told == [(0, 1)] * 3 + [(1, 1)] * 2


def test_nothing_of_a_load_survives_it() -> None:
    engine = Queue()
    Load(engine, workload(), LoadOrder(100), ignore).run()
    gc.collect()
    # Not isinstance: a weak proxy answers with the class of what it stands for, and raises once that is gone.
    assert not [found for found in gc.get_objects() if type(found) is Load]


def test_null_and_absent_arguments_are_the_defaults() -> None:
    order = LoadOrder.read({"id": 1, "command": "load", "requests": 5, "request_rate": "inf", "burstiness": None})
    assert order == LoadOrder(5)
