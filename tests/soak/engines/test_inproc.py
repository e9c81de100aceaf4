# SPDX-License-Identifier: Apache-2.0
"""The in-process driver on the two releases whose LLM() runs on a CPU here, with all tiny models."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.engine

REQUESTS = 100
KINDS = ("llama", "gemma3", "lfm2")

# Three engines one after the other in one interpreter, so that the imports are paid for once.
SCRIPT = """
from vllm_soak.engines import inproc, vllm_compat
from vllm_soak.engines.load import Load, LoadOrder
from vllm_soak.workloads.workload import make_workload

vllm_compat.load_plugins()
found = {}

def soak(kind, requests):
    def serve(engine):
        order = LoadOrder(requests, max_concurrency=32)
        load = Load(engine, make_workload({}, engine.vocab_size), order, lambda done, total: None)
        result = load.run()
        scheduler = engine.llm.llm_engine.engine_core.engine_core.scheduler
        managers = scheduler.kv_cache_manager.coordinator.single_type_managers
        ids = {f"{place}:{type(m).__name__}": len(getattr(m, "new_block_ids", ())) for place, m in enumerate(managers)}
        found[kind] = {"facts": engine.facts(), "ids": ids, "busy": engine.busy(),
                       "result": {key: result[key] for key in ("requests", "prompt_tokens", "output_tokens")},
                       "counted": sum(result["latency"]["counts"])}
    return serve

for kind, model in json.loads(sys.argv[1]).items():
    inproc.run({"model": model}, soak(kind, int(sys.argv[2])))
answer(found)
"""


def soak(engine: Any, in_engine: Callable[..., Any], tiny: Callable[[str], str]) -> dict[str, Any]:
    models = json.dumps({kind: tiny(kind) for kind in KINDS})
    found: dict[str, Any] = in_engine(Path(engine.python), SCRIPT, models, str(REQUESTS))
    return found


@pytest.fixture(scope="module")
def affected(affected_engine: Any, in_engine: Callable[..., Any], tiny: Callable[[str], str]) -> dict[str, Any]:
    return soak(affected_engine, in_engine, tiny)


@pytest.fixture(scope="module")
def healthy(healthy_engine: Any, in_engine: Callable[..., Any], tiny: Callable[[str], str]) -> dict[str, Any]:
    return soak(healthy_engine, in_engine, tiny)


@pytest.fixture(scope="module", params=["affected", "healthy"])
def either(request: pytest.FixtureRequest) -> dict[str, Any]:
    found: dict[str, Any] = request.getfixturevalue(request.param)
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_every_request_is_served_and_counted(either: dict[str, Any], kind: str) -> None:
    expected = {"requests": REQUESTS, "prompt_tokens": 220 * REQUESTS, "output_tokens": REQUESTS}
    assert either[kind]["result"] == expected
    assert either[kind]["counted"] == REQUESTS
    assert not either[kind]["busy"]


def ids(report: dict[str, Any], kind: str, manager: str) -> list[int]:
    return [count for name, count in report[kind]["ids"].items() if name.endswith(manager)]


def test_the_affected_release_piles_up_fourteen_ids_a_request(affected: dict[str, Any]) -> None:
    assert affected["llama"]["facts"]["block_size"] == 16
    assert ids(affected, "llama", "FullAttentionManager") == [14 * REQUESTS]
    assert ids(affected, "gemma3", "FullAttentionManager") == [14 * REQUESTS]
    assert set(ids(affected, "gemma3", "SlidingWindowManager")) == {0}


def test_the_healthy_release_piles_up_nothing(healthy: dict[str, Any]) -> None:
    for kind in KINDS:
        assert set(healthy[kind]["ids"].values()) == {0}


def test_the_hybrid_model_is_zeroed_and_piles_up_nothing(either: dict[str, Any]) -> None:
    assert either["lfm2"]["facts"]["needs_kv_cache_zeroing"]
    assert len(ids(either, "lfm2", "MambaManager")) == 3
    assert set(either["lfm2"]["ids"].values()) == {0}


def test_the_block_size_is_raised_where_the_engine_demands_it(healthy: dict[str, Any]) -> None:
    facts = healthy["llama"]["facts"]
    assert facts["block_size_wanted"] == 16
    assert facts["block_size"] == 32
