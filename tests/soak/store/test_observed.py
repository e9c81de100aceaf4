# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

from vllm_soak.store.outside import TREE, Capture, LevelStep, Point, ProcessEvent
from vllm_soak.store.reader import read_run

if TYPE_CHECKING:
    from vllm_soak.store.writer import RunStore

POINTS = [
    Point("run", 1.0, "EngineCore", 4711, 150, {"in_use": 1.5e9, "cores": 0.97}),
    Point("run", 1.0, TREE, 0, 150, {"in_use": 2.0e9}),
]
EVENT = ProcessEvent("run", 2.0, "restarted", "EngineCore", 4712, "pid 4711 before")
STEP = LevelStep("run", 300.0, 331.0, 45_000, {"latency_p50": [0.27, 0.36]}, "latency_p50 rose by 33 %")
CAPTURE = Capture("run", 331.0, 4.2, "step 1", "captures/1", ["stacks-EngineCore.txt"], ["no NVML"])


def test_what_was_observed_is_read_back_equal(store: RunStore) -> None:
    store.add_points(POINTS)
    store.add_process_event(EVENT)
    store.add_level_step(STEP)
    store.add_capture(CAPTURE)
    (arm,) = read_run(store.file.parent).arms
    assert (arm.points, arm.process_events, arm.level_steps, arm.captures) == (POINTS, [EVENT], [STEP], [CAPTURE])


def test_points_are_left_out_where_nobody_asks_for_them(store: RunStore) -> None:
    store.add_points(POINTS)
    store.add_level_step(STEP)
    (arm,) = read_run(store.file.parent, points=False).arms
    assert (arm.points, arm.level_steps) == ([], [STEP])


def test_a_run_without_these_tables_is_read(store: RunStore) -> None:
    store.close()
    with closing(sqlite3.connect(store.file)) as connection, connection:
        for table in ("point", "process_event", "level_step", "capture"):
            connection.execute(f"DROP TABLE {table}")
    (arm,) = read_run(store.file.parent).arms
    assert (arm.points, arm.process_events, arm.level_steps, arm.captures) == ([], [], [], [])
