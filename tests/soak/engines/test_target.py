# SPDX-License-Identifier: Apache-2.0
"""The controller's side, against real processes; those with an engine are in test_inproc and test_core."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from vllm_soak.engines.ending import EngineDiedError, EngineRefusedError
from vllm_soak.engines.target import TargetProcess
from vllm_soak.errors import EngineError, ExitCode

MakeTarget = Callable[..., TargetProcess]


def test_an_interpreter_without_an_engine_is_refused_in_one_sentence(make_target: MakeTarget) -> None:
    target = make_target()
    target.launch()
    with pytest.raises(EngineRefusedError, match=r"^the engine cannot be imported .*vllm.*: repair") as caught:
        target.request("start", driver="core", model="nowhere", engine_args={}, workload={})
    assert caught.value.exit_code is ExitCode.ENGINE_FAILED
    assert "ModuleNotFoundError" in caught.value.traceback


def test_a_target_that_is_idle_stops_by_itself(make_target: MakeTarget) -> None:
    target = make_target()
    target.launch()
    process = psutil.Process(target.pid)
    target.stop()
    assert not process.is_running()
    assert target._process is not None
    assert target._process.returncode == 0
    assert target.death() is None


def test_a_kill_is_named_and_explained(make_target: MakeTarget) -> None:
    target = make_target()
    target.launch()
    assert target.death() is None
    os.kill(target.pid, signal.SIGKILL)
    with pytest.raises(EngineDiedError, match="the engine was ended by SIGKILL"):
        target.request("load", requests=1)
    assert "SIGKILL" in str(target.death())


def test_an_exit_by_itself_is_named_and_its_log_kept(make_target: MakeTarget, tmp_path: Path) -> None:
    broken = tmp_path / "python"
    broken.write_text("#!/bin/sh\nfor i in $(seq 40); do echo line $i; done\nexit 7\n")
    broken.chmod(0o755)
    target = make_target(broken)
    target.launch()
    with pytest.raises(EngineDiedError, match="exit code 7") as caught:
        target.request("start")
    assert caught.value.log_tail == [f"line {number}" for number in range(26, 41)]


def test_a_missing_interpreter_is_refused(make_target: MakeTarget, tmp_path: Path) -> None:
    with pytest.raises(EngineError, match="cannot be started"):
        make_target(tmp_path / "absent").launch()


def test_an_unlaunched_target_says_so(make_target: MakeTarget) -> None:
    target = make_target()
    with pytest.raises(EngineError, match="not started"):
        target.request("load")
    assert target.death() is None
    target.stop()


def test_the_socket_is_named_after_the_process(make_target: MakeTarget, tmp_path: Path) -> None:
    target = make_target(Path(sys.executable))
    target.launch()
    assert target.probe_socket == tmp_path / f"{target.pid}.sock"


def test_a_target_runs_in_a_session_of_its_own(make_target: MakeTarget) -> None:
    target = make_target()
    target.launch()
    assert os.getsid(target.pid) == target.pid != os.getsid(0)
