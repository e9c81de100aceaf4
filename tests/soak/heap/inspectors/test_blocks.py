# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from collections import deque
from typing import Any

import pytest

from vllm_soak.heap.bounds import bound_of


class CachingMetrics:
    """As vLLM has it; the attribute that limits it was renamed."""

    def __init__(self, name: str, limit: Any) -> None:
        setattr(self, name, limit)
        self.query_queue: deque[int] = deque()
        self.others: list[int] = []


@pytest.mark.parametrize("name", ["max_recent_requests", "interval"])
def test_the_window_of_recent_requests(name: str) -> None:
    metrics = CachingMetrics(name, 1000)
    found = bound_of(metrics.query_queue, [metrics])
    assert found is not None
    assert found.length == 1000
    assert bound_of(metrics.others, [metrics]) is None


def test_without_a_limit_it_has_no_bound() -> None:
    metrics = CachingMetrics("interval", None)
    assert bound_of(metrics.query_queue, [metrics]) is None
