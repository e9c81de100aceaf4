# SPDX-License-Identifier: Apache-2.0
"""A server under load as one target of an arm, with toy servers and the real load process."""

from __future__ import annotations

import io
import os
import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from vllm_soak.engines.arm import ArmRunner
from vllm_soak.engines.process_tree import is_stopped
from vllm_soak.engines.serve.target import ServeTarget
from vllm_soak.errors import EngineError
from vllm_soak.experiment import Experiment
from vllm_soak.plan import Plan
from vllm_soak.probe.client import ProbeClient
from vllm_soak.report.live import LiveView
from vllm_soak.store.outside import CLIENT, TREE
from vllm_soak.store.reader import read_run
from vllm_soak.store.writer import RunStore
from vllm_soak.verdict.judge import judge
from vllm_soak.verdict.outcome import Outcome

MakeServe = Callable[..., ServeTarget]
MakeArm = Callable[..., ArmRunner]
START: dict[str, Any] = {"mix": {"part": [{}]}, "seed": 0, "give_up": 2.0}
PLAN = Plan(driver="serve", num_prompts=400, max_concurrency=8)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[RunStore]:
    with RunStore.create(tmp_path / "run", PLAN.as_json()) as made:
        yield made


@pytest.fixture
def make_arm(make_serve: MakeServe, store: RunStore) -> Iterator[MakeArm]:
    """Makes the arm of a toy server, and stops it."""
    made: list[ArmRunner] = []

    def make(*arguments: str) -> ArmRunner:
        store.add_arm("run")
        made.append(ArmRunner("run", PLAN, make_serve(*arguments), START, store, store.file.parent))
        return made[-1]

    yield make
    for arm in made:
        arm.stop()


@pytest.fixture
def arm(make_arm: MakeArm) -> ArmRunner:
    """The arm of a server that is up."""
    made = make_arm()
    made.launch()
    made.wait_ready()
    return made


def test_a_leak_in_the_engine_process_is_named_there(make_arm: MakeArm, store: RunStore) -> None:
    arm = make_arm("--leak")
    Experiment(PLAN, [arm], LiveView(Console(file=io.StringIO()))).run(interleaved=False)
    verdict = judge(read_run(store.file.parent))
    by_name = {one.process: one for one in verdict.arms[0].processes}
    assert list(by_name) == ["APIServer", "EngineCore"]
    assert by_name["APIServer"].outcome is not Outcome.LEAK
    leaks = [one for one in by_name["EngineCore"].suspects if one.outcome is Outcome.LEAK]
    assert [one.path for one in leaks] == ["engine_core.ids"]
    assert leaks[0].per_request == pytest.approx(13.0), "220 // 16"


def test_what_happens_outside_is_stored(arm: ArmRunner, store: RunStore) -> None:
    arm.load(3000, lambda _: None)
    arm.finish_round(0, "warm-up")
    arm.stop()
    (found,) = read_run(store.file.parent).arms
    assert {TREE, CLIENT} <= {one.process for one in found.points}
    assert found.engine["processes"].keys() == {"APIServer", "EngineCore"}
    assert found.engine["load"]["client"].startswith("aiohttp")
    assert [one.requests for one in found.rounds] == [3000]


@pytest.mark.parametrize(
    ("role", "words", "follows"),
    [("EngineCore", "EngineCore (pid ", 2.0), ("APIServer", "the server was ended by SIGKILL", 120.0)],
)
def test_a_process_killed_under_load_is_named(
    arm: ArmRunner, store: RunStore, role: str, words: str, follows: float, monkeypatch: Any
) -> None:
    monkeypatch.setattr("vllm_soak.engines.serve.target.FOLLOW_SECONDS", follows)
    killer = threading.Timer(1.0, os.kill, (arm.facts["processes"][role], signal.SIGKILL))
    killer.start()
    with pytest.raises(EngineError) as failure:
        arm.load(1_000_000, lambda _: None)
    assert words in str(failure.value)
    arm.stop()
    run = read_run(store.file.parent)
    assert words in run.arms[0].failure
    assert judge(run).outcome is Outcome.INCONCLUSIVE


def test_a_held_process_is_named(arm: ArmRunner, monkeypatch: Any) -> None:
    monkeypatch.setattr("vllm_soak.engines.serve.target.HELD_SECONDS", 2.0)
    engine = arm.facts["processes"]["EngineCore"]
    threading.Timer(1.0, os.kill, (engine, signal.SIGSTOP)).start()
    with pytest.raises(EngineError, match=rf"since EngineCore \(pid {engine}\) was stopped by a signal"):
        arm.load(1_000_000, lambda _: None)


def test_a_held_process_explains_why_its_probe_is_silent(arm: ArmRunner, eventually: Any) -> None:
    engine = arm.facts["processes"]["EngineCore"]
    socket = next(one for one in arm.target.probe_sockets() if one.stem == str(engine))
    os.kill(engine, signal.SIGSTOP)
    eventually(lambda: is_stopped(engine))
    with pytest.raises(EngineError, match=rf"^EngineCore \(pid {engine}\) was stopped by a signal: .* did not answer"):
        arm._guarded(ProbeClient(socket, quick=1.0).ping)
    os.kill(engine, signal.SIGCONT)


def test_a_killed_load_process_is_not_the_servers_fault(arm: ArmRunner) -> None:
    threading.Timer(1.0, os.kill, (arm.facts["load"]["pid"], signal.SIGKILL)).start()
    with pytest.raises(EngineError, match="the load process was ended by SIGKILL"):
        arm.load(1_000_000, lambda _: None)


def test_a_port_that_is_closed_ends_the_load(make_arm: MakeArm, store: RunStore) -> None:
    arm = make_arm("--deaf-after", "500")
    arm.launch()
    arm.wait_ready()
    with pytest.raises(EngineError) as failure:
        arm.load(1_000_000, lambda _: None)
    assert "refused every connection" in str(failure.value)
    assert "while all its processes live: see the server's log for what closed its port" in str(failure.value)
    assert str(failure.value) in read_run(store.file.parent).arms[0].failure
    assert arm.target.death() is None, "the server lives"
