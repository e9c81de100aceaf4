# SPDX-License-Identifier: Apache-2.0
"""An arm watched from outside, with a server and without."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from vllm_soak.engines.outside import Outside
from vllm_soak.engines.soaked import Tree
from vllm_soak.store.outside import CLIENT
from vllm_soak.store.reader import read_run
from vllm_soak.store.writer import RunStore

SECOND = {"event": "second", "completed": 8, "failed": 0, "latency": {"p50": 0.2, "p99": 0.3}}


@pytest.fixture
def store(tmp_path: Path) -> Iterator[RunStore]:
    with RunStore.create(tmp_path / "run", {}) as made:
        made.add_arm("run")
        yield made


def a_round(outside: Outside, tree: Tree | None) -> None:
    """All that an arm asks of it, in the order of a run."""
    outside.observe(tree, lambda: 64)
    outside.resume()
    for event in ({"event": "progress", "done": 8}, SECOND):
        outside.take_event(event)
    outside.pause()
    outside.settled()
    outside.stop()


def test_a_server_s_seconds_are_kept_and_handed_on(store: RunStore) -> None:
    handed_on: list[tuple[str, dict[str, Any]]] = []
    outside = Outside("run", store, store.file.parent, print, lambda name, event: handed_on.append((name, event)))
    a_round(outside, Tree(os.getpid(), "http://127.0.0.1:9", {}, {}, None))
    assert handed_on == [("run", SECOND)]
    points = [point for point in read_run(store.file.parent).arms[0].points if point.process == CLIENT]
    assert [point.requests for point in points] == [64]


def test_a_single_host_process_is_left_alone(store: RunStore) -> None:
    handed_on: list[str] = []
    outside = Outside("run", store, store.file.parent, print, lambda name, _event: handed_on.append(name))
    outside.baseline()
    a_round(outside, None)
    assert handed_on == []
    assert read_run(store.file.parent).arms[0].points == []
