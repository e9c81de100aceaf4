# SPDX-License-Identifier: Apache-2.0
"""The controller's side, against real processes; those with an engine are in test_inproc and test_core."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest

from vllm_soak.engines.ending import EngineDiedError, EngineRefusedError, EngineStalledError
from vllm_soak.engines.silence import Patience
from vllm_soak.engines.target import TargetProcess
from vllm_soak.errors import EngineError, ExitCode

MakeTarget = Callable[..., TargetProcess]


def test_an_interpreter_without_an_engine_is_refused_in_one_sentence(make_target: MakeTarget) -> None:
    target = make_target()
    target.launch()
    with pytest.raises(EngineRefusedError, match=r"^the engine cannot be imported .*(vllm|torch).*: repair") as caught:
        target.request("start", driver="core", model="nowhere", engine_args={}, workload={})
    assert caught.value.exit_code is ExitCode.ENGINE_FAILED
    assert "ModuleNotFoundError" in caught.value.traceback


def test_a_target_that_is_idle_stops_by_itself(make_target: MakeTarget) -> None:
    target = make_target(patience=Patience(stop=120.0))
    target.launch()
    process = psutil.Process(target.pid)
    target.stop()
    assert not process.is_running()
    assert target._process is not None
    assert target._process.returncode == 0
    assert target.death() is None


def test_two_threads_may_stop_it_at_once(make_target: MakeTarget) -> None:
    target = make_target(patience=Patience(stop=120.0))
    target.launch()
    process = psutil.Process(target.pid)
    with ThreadPoolExecutor(4) as threads:
        for one in [threads.submit(target.stop) for _ in range(4)]:
            one.result()
    assert not process.is_running()
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
    assert target.probe_sockets() == [tmp_path / f"{target.pid}.sock"]


def test_a_target_runs_in_a_session_of_its_own(make_target: MakeTarget) -> None:
    target = make_target()
    target.launch()
    assert os.getsid(target.pid) == target.pid != os.getsid(0)


@pytest.mark.parametrize("name", ["json.py", "ctypes.py", "torch.py"])
def test_files_of_the_run_folder_are_no_modules(make_target: MakeTarget, tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("raise SystemExit('a file of the run folder was imported')\n")
    target = make_target()
    target.launch()
    with pytest.raises(EngineRefusedError, match="cannot be imported"):
        target.request("start", driver="core", model="nowhere", engine_args={}, workload={})
    assert "run folder" not in "".join(target.log_tail)


def test_the_working_folder_is_empty_and_does_not_outlive_the_process(make_target: MakeTarget) -> None:
    target = make_target()
    target.launch()
    assert Path(psutil.Process(target.pid).cwd()) == target.work_folder
    assert list(target.work_folder.iterdir()) == []
    target.stop()
    assert not target.work_folder.exists()


def test_what_an_engine_writes_into_its_working_folder_is_kept(make_target: MakeTarget) -> None:
    target = make_target()
    target.launch()
    (target.work_folder / "core.1").write_text("")
    target.stop()
    assert (target.work_folder / "core.1").exists()


def test_a_run_folder_with_a_long_path(make_target: MakeTarget, tmp_path: Path) -> None:
    folder = tmp_path / ("long" * 30) / ("name" * 30)
    folder.mkdir(parents=True)
    target = make_target(folder=folder)
    target.launch()
    with pytest.raises(EngineRefusedError, match="cannot be imported"):
        target.request("start", driver="core", model="nowhere", engine_args={}, workload={})


def test_a_frozen_engine_is_told_of_and_then_given_up(make_target: MakeTarget) -> None:
    target = make_target(patience=Patience(load=4.0, note=1.0))
    target.launch()
    os.kill(target.pid, signal.SIGSTOP)
    silences: list[float] = []
    with pytest.raises(EngineStalledError, match=r"no progress for 4 s.* was stopped by a signal") as caught:
        target.request("load", on_silence=silences.append, requests=1)
    assert silences == [1.0, 2.0]
    assert caught.value.exit_code is ExitCode.ENGINE_FAILED
    assert target.death() is None, "it lives, so its silence is the cause that counts"
    target.stop()
    assert not psutil.pid_exists(target.pid)


def test_a_frozen_idle_engine_can_be_stopped(make_target: MakeTarget) -> None:
    target = make_target(patience=Patience(stop=1.0))
    target.launch()
    os.kill(target.pid, signal.SIGSTOP)
    target.stop()
    assert not psutil.pid_exists(target.pid)


# Stands in for a host: a whole message a second, or one in pieces, never silent for long.
SLOW = """#!{python}
import os, sys, time
out = int(sys.argv[-1])
open("begun", "w").close()
for done in range(5):
    time.sleep(1.2)
    os.write(out, b'{{"event": "progress", "id": 1, "done": 0, "total": 1}}\\n')
for piece in (b'{{"id": 1, ', b'"loaded": ', b'{{"requests": 1}}}}\\n'):
    time.sleep(1.2)
    os.write(out, piece)
time.sleep(600)
"""


def wait_for(file: Path) -> None:
    """Wait until a process has made a file."""
    until = time.monotonic() + 120
    while not file.exists():
        assert time.monotonic() < until, f"{file} was not made"
        time.sleep(0.05)


def test_a_slow_engine_that_gives_signs_of_life_is_waited_for(make_target: MakeTarget, tmp_path: Path) -> None:
    slow = tmp_path / "python"
    slow.write_text(SLOW.format(python=sys.executable))
    slow.chmod(0o755)
    target = make_target(slow, patience=Patience(load=7.0, stop=1.0, note=1000.0))
    target.launch()
    wait_for(target.work_folder / "begun")  # the start of a Python takes its time on a busy machine
    told: list[tuple[int, int]] = []
    answer = target.request("load", on_progress=lambda done, total: told.append((done, total)), requests=1)
    assert answer == {"requests": 1}
    assert told == [(0, 1)] * 5


def test_an_engine_frozen_within_a_message_is_given_up(make_target: MakeTarget, tmp_path: Path) -> None:
    torn = tmp_path / "python"
    torn.write_text(f"#!{sys.executable}\nimport os, sys, time\nos.write(int(sys.argv[-1]), b'{{')\ntime.sleep(600)\n")
    torn.chmod(0o755)
    target = make_target(torn, patience=Patience(load=2.0))
    target.launch()
    with pytest.raises(EngineStalledError, match=r"no progress for 2 s: it hangs"):
        target.request("load", requests=1)
