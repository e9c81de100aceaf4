# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import asyncio
import queue
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from vllm_soak.heap.bounds import bound_of

Way = Callable[[object], list[object]]


@pytest.mark.parametrize("kind", [queue.Queue, queue.LifoQueue, queue.PriorityQueue])
def test_a_queue_with_a_maxsize(kind: Any, way_to: Way) -> None:
    made = kind(maxsize=7)
    found = bound_of(made.queue, way_to(made))
    assert found is not None
    assert found.length == 7
    assert bound_of([], [made]) is None
    assert bound_of(kind().queue, [kind()]) is None


def test_an_asyncio_queue_with_a_maxsize() -> None:
    made: Any = asyncio.Queue(maxsize=7)
    found = bound_of(made._queue, [made])
    assert found is not None
    assert found.length == 7
    other: Any = asyncio.Queue()
    assert bound_of(other._queue, [other]) is None


def test_threads_of_a_pool() -> None:
    with ThreadPoolExecutor(3) as pool:
        found = bound_of(pool._threads, [pool])
        assert found is not None
        assert found.length == 3
        assert bound_of(pool._initargs, [pool]) is None
