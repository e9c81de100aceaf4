# SPDX-License-Identifier: Apache-2.0
"""The whole command on a server, with a toy in the place of vLLM's: real processes, a real load, real faults.

The real server is soaked in `tests/test_readme.py`.
"""

from __future__ import annotations

import os
import shutil
import signal
import time
import venv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

from vllm_soak.engines.process_tree import living, with_variable
from vllm_soak.store.reader import read_run

TOY = Path(__file__).parent / "engines" / "serve" / "toy_server.py"
SERVER = """
import sys
import toy_server

if __name__ == "__main__":
    port, flags = sys.argv[sys.argv.index("--port") + 1], sys.argv[sys.argv.index("--toy") + 1 :]
    sys.argv[:] = ["toy_server", port, *flags]
    toy_server.main()
"""
SMALL = ("--num-prompts", "300", "--max-concurrency", "8")
ENDLESS = ("--num-prompts", "3000", "--rounds", "100", "--max-rounds", "100", "--max-concurrency", "8")


@pytest.fixture(scope="module")
def toy_python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An interpreter with an engine called vllm, whose server is the toy."""
    folder = tmp_path_factory.mktemp("engine") / "venv"
    venv.create(folder, symlinks=True)
    (site,) = folder.glob("lib/python*/site-packages")
    shutil.copy(TOY, site / "toy_server.py")
    server = site / "vllm" / "entrypoints" / "openai" / "api_server.py"
    server.parent.mkdir(parents=True)
    server.write_text(SERVER)
    (site / "vllm" / "__init__.py").touch()
    metadata = site / "vllm-0.25.1.dist-info" / "METADATA"
    metadata.parent.mkdir()
    metadata.write_text("Metadata-Version: 2.1\nName: vllm\nVersion: 0.25.1\n")
    return folder / "bin" / "python"


@pytest.fixture
def serve(toy_python: Path, tmp_path: Path) -> Callable[..., list[object]]:
    """The command line of a soak of the toy."""

    def line(*flags: str, toy: tuple[str, ...] = (), folder: Path = tmp_path / "run") -> list[object]:
        head = ["run", "--driver", "serve", "--python", toy_python, "--run-dir", folder]
        return [*head, *flags, "--", "--toy", *toy]

    return line


def left(folder: Path) -> list[psutil.Process]:
    """What still lives of a run's server; what was killed has two minutes to go."""
    until = time.monotonic() + 120
    while (found := living(with_variable("VLLM_SOAK_PROBE", str(folder / "probe-run")))) and time.monotonic() < until:
        time.sleep(0.2)
    return found


def engine_core(folder: Path) -> int:
    """Pid of the engine process of a run that is under way."""
    return int(read_run(folder).arms[0].engine["processes"]["EngineCore"])


def test_a_leak_is_named_in_its_process(command: Any, read_report: Any, serve: Any, tmp_path: Path) -> None:
    done = command(*serve(*SMALL, toy=("--leak",)))
    assert done.returncode == 1, done.stdout + done.stderr
    found = {one["process"]: one for one in read_report(tmp_path / "run")["arms"][0]["processes"]}
    assert found.keys() == {"APIServer", "EngineCore"}
    assert [one["path"] for one in found["EngineCore"]["suspects"] if one["outcome"] == "leak"] == ["engine_core.ids"]
    assert "so far leak" in done.stdout
    assert left(tmp_path / "run") == []


def test_a_server_that_does_not_come_up_is_explained(command: Any, serve: Any) -> None:
    done = command(*serve(*SMALL, toy=("--say", "RuntimeError: not enough memory", "--exit", "1")))
    assert done.returncode == 3, done.stdout + done.stderr
    assert "the machine has too little memory" in done.stdout.replace("\n", " ")
    assert "| RuntimeError: not enough memory" in done.stdout
    assert "Traceback" not in done.stdout + done.stderr


@pytest.mark.parametrize("moment", ["starting run", "measured round 2"])
def test_ctrl_c_ends_with_a_report(start: Any, serve: Any, tmp_path: Path, moment: str) -> None:
    slow = ("--start-after", "60") if moment == "starting run" else ()
    run = start(*serve(*ENDLESS, toy=slow))
    run.wait_for(moment)
    time.sleep(1)
    os.kill(run.process.pid, signal.SIGINT)
    assert run.end() == 2, run.output
    assert read_run(tmp_path / "run").status == "interrupted"
    assert "INCONCLUSIVE" in run.output
    assert "Traceback" not in run.output
    assert left(tmp_path / "run") == []


def test_a_killed_engine_is_named_and_no_leak_is_told_from_its_tail(
    start: Any, serve: Any, integrity: Any, tmp_path: Path
) -> None:
    run = start(*serve(*ENDLESS, toy=("--leak",)))
    run.wait_for("measured round 2")
    os.kill(engine_core(tmp_path / "run"), signal.SIGKILL)
    assert run.end() == 3, run.output
    assert "EngineCore (pid " in run.output
    assert read_run(tmp_path / "run").status == "failed"
    assert "LEAK  EngineCore" not in run.output
    assert integrity(tmp_path / "run") == ["ok"]
    assert left(tmp_path / "run") == []


def test_a_killed_controller_leaves_a_run_that_can_be_reported(
    start: Any, command: Any, serve: Any, integrity: Any, tmp_path: Path
) -> None:
    run = start(*serve(*ENDLESS, toy=("--away",)))
    run.wait_for("measured round 2")
    run.process.kill()
    run.process.wait()
    assert left(tmp_path / "run") == []
    done = command("report", tmp_path / "run")
    assert done.returncode == 2, done.stdout + done.stderr
    assert integrity(tmp_path / "run") == ["ok"]


def test_a_full_disk_ends_the_run_and_keeps_what_was_written(
    start: Any, serve: Any, small_disk: Any, integrity: Any
) -> None:
    disk = small_disk(8)
    folder = disk / "run"
    run = start(*serve(*ENDLESS, folder=folder))
    run.wait_for("measured round 1")
    with pytest.raises(OSError, match="No space left"):
        (disk / "filler").write_bytes(bytes(16 << 20))
    assert run.end() == 2, run.output
    assert "free some space and start again" in run.output
    assert "Traceback" not in run.output
    assert left(folder) == []
    (disk / "filler").unlink()
    assert integrity(folder) == ["ok"]
    assert len(read_run(folder).arms[0].rounds) >= 3


def test_two_servers_may_take_turns(command: Any, read_report: Any, serve: Any, tmp_path: Path) -> None:
    done = command(*serve("--ab", "--ab-order", "interleaved", "--rounds", "3", *SMALL))
    assert done.returncode == 0, done.stdout + done.stderr
    arms = read_report(tmp_path / "run")["arms"]
    assert [one["name"] for one in arms] == ["unpatched", "patched"]
    assert "patched / unpatched, median of pairs" in done.stdout
    assert "not compared" not in done.stdout
