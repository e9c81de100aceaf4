# SPDX-License-Identifier: Apache-2.0
"""How work is cut into blocks, and when a budget is spent; whole experiments are in test_run.py."""

from __future__ import annotations

import io
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from vllm_soak.errors import StoreError
from vllm_soak.experiment import MOST_WARM_UP_ROUNDS, Budget, Experiment, split, stop_all
from vllm_soak.plan import Plan
from vllm_soak.report.live import LiveView
from vllm_soak.store.record import WARM_UP, Sample
from vllm_soak.store.writer import RunStore


@given(total=st.integers(1, 5_000), parts=st.integers(1, 12))
def test_blocks_add_up_and_differ_by_one_at_most(total: int, parts: int) -> None:
    blocks = split(total, parts)
    assert sum(blocks) == total
    assert min(blocks) >= 1
    assert max(blocks) - min(blocks) <= 1
    assert len(blocks) == min(parts, total)


def arms(*requests: int) -> list[Any]:
    return [cast("Any", SimpleNamespace(requests=done)) for done in requests]


def budget(seconds: float = 3600.0, **plan: Any) -> Budget:
    return Budget(Plan(num_prompts=100, **plan), time.monotonic(), seconds)


def test_a_round_that_would_exceed_the_requests_is_not_begun() -> None:
    assert budget(max_requests=500).allows(arms(400, 400))
    assert not budget(max_requests=500).allows(arms(400, 401))


def test_a_round_is_not_begun_after_the_time() -> None:
    assert budget(3600.0).allows(arms(0))
    assert not budget(0.0).allows(arms(0))


def test_warm_up_leaves_requests_for_the_measured_rounds() -> None:
    tight = budget(max_requests=600)
    assert tight.allows_warm_up(arms(200), 2)
    assert not tight.allows_warm_up(arms(300), 3)


def test_the_first_round_is_run_however_short_the_time() -> None:
    assert budget(0.0).allows_warm_up(arms(0), 0)
    assert not budget(0.0).allows_warm_up(arms(100), 1)


def test_warm_up_ends_however_unsteady_an_engine_is() -> None:
    assert budget().allows_warm_up(arms(900), MOST_WARM_UP_ROUNDS - 1)
    assert not budget().allows_warm_up(arms(1_000), MOST_WARM_UP_ROUNDS)


def test_a_watched_path_that_is_not_there_is_said_after_the_first_round(tmp_path: Path) -> None:
    said = io.StringIO()
    with RunStore.create(tmp_path, {}) as store:
        store.add_arm("run")
        store.add_sample(Sample("run", "p", 1, WARM_UP, 0, 600, 1.0, lengths={"engine.ids": 3}))
        one: Any = SimpleNamespace(name="run", folder=tmp_path)
        plan = Plan(watch=("engine.ids", "engine.lost"))
        Experiment(plan, [one], LiveView(Console(file=said, width=80))).tell_lost([one])
    assert said.getvalue() == "run: --watch engine.lost was not found\n"


def test_all_arms_are_stopped_although_one_complains() -> None:
    stopped: list[str] = []

    class Complaining:
        def __init__(self, name: str) -> None:
            self.name = name

        def stop(self) -> None:
            stopped.append(self.name)
            raise StoreError("no space is left", "free some space")

    with pytest.raises(StoreError):
        stop_all([cast("Any", Complaining("unpatched")), cast("Any", Complaining("patched"))])
    assert stopped == ["unpatched", "patched"]
