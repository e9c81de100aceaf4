# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from dataclasses import replace

import pytest
import synthetic_series as made

from vllm_soak.store.record import Arm
from vllm_soak.verdict.uncounted import Uncounted, uncounted

IDLE = 5_000_000.0


def cached(counted: float, held: float, turns: object = None) -> Arm:
    """Seven rounds, after each of which a prefix cache counts some bytes and mlx has some more in use."""
    arm = made.arm([1e8] * 7, values={"prefix_bytes": counted, "mlx_active": IDLE + held})
    return replace(arm, engine={"turns": [{"mlx_active": IDLE}] if turns is None else turns})


def test_memory_that_no_entry_counts_is_told() -> None:
    assert uncounted(cached(840_000, 1_430_000), made.PROCESS) == Uncounted(840_000, 1_430_000)


@pytest.mark.parametrize("held", [0, 840_000, 900_000, 920_000])
def test_little_is_not_worth_a_word(held: float) -> None:
    assert uncounted(cached(840_000, held), made.PROCESS) is None


def test_every_round_must_have_it() -> None:
    arm = cached(840_000, 1_430_000)
    freed = replace(arm.samples[-2], values={**arm.samples[-2].values, "mlx_active": IDLE + 840_000})
    assert uncounted(replace(arm, samples=[*arm.samples[:-2], freed, arm.samples[-1]]), made.PROCESS) is None


@pytest.mark.parametrize("turns", [[], "none", [{"ssm_arrays": 3.0}], [None], [{"mlx_active": None}]])
def test_without_the_idle_engine_nothing_is_told(turns: object) -> None:
    assert uncounted(cached(840_000, 1_430_000, turns), made.PROCESS) is None


def test_an_empty_cache_holds_nothing() -> None:
    assert uncounted(cached(0, 1_430_000), made.PROCESS) is None
    assert uncounted(made.arm([1e8] * 7), made.PROCESS) is None
