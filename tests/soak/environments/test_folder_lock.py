# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import fcntl
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

from vllm_soak.environments.folder_lock import exclusive

Start = Callable[..., "subprocess.Popen[str]"]

# Holds the lock argv[1] until the file argv[2] appears; a tool that inherits the lock does likewise with argv[3].
HOLD = """
import subprocess, sys, time
from pathlib import Path
from vllm_soak.environments.folder_lock import exclusive
until = "import pathlib, sys, time\\nwhile not pathlib.Path(sys.argv[1]).exists(): time.sleep(0.01)"
with exclusive(Path(sys.argv[1]), lambda: print("waiting")) as lock:
    if sys.argv[3:]:
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        subprocess.Popen([sys.executable, "-c", until, sys.argv[3]], pass_fds=(lock,), **quiet)
    print("held")
    while not Path(sys.argv[2]).exists():
        time.sleep(0.01)
"""


def line(child: subprocess.Popen[str]) -> str:
    """The next line that a child prints."""
    assert child.stdout is not None
    return child.stdout.readline().strip()


def is_free(path: Path) -> bool:
    """Whether nobody holds the lock at this moment."""
    with path.open() as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
    return True


def test_a_second_process_says_that_it_waits_and_then_gets_in(controller: Start, tmp_path: Path) -> None:
    lock, go = tmp_path / "folder" / "lock", tmp_path / "go"
    first = controller(HOLD, str(lock), str(go))
    assert line(first) == "held"
    second = controller(HOLD, str(lock), str(go))
    assert line(second) == "waiting"
    go.touch()
    assert line(second) == "held"
    assert (first.wait(), second.wait()) == (0, 0)


def test_a_killed_holder_holds_nothing(controller: Start, tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    child = controller(HOLD, str(lock), str(tmp_path / "never"))
    assert line(child) == "held"
    assert not is_free(lock)
    child.kill()
    child.wait()
    assert is_free(lock)


def test_a_tool_that_outlives_its_killed_parent_still_holds(controller: Start, tmp_path: Path) -> None:
    lock, end = tmp_path / "lock", tmp_path / "end"
    child = controller(HOLD, str(lock), str(tmp_path / "never"), str(end))
    assert line(child) == "held"
    child.kill()
    child.wait()
    assert not is_free(lock)
    end.touch()
    waited: list[bool] = []
    with exclusive(lock, lambda: waited.append(True)):
        assert len(waited) <= 1


def test_no_child_inherits_the_lock_unasked(tmp_path: Path) -> None:
    with exclusive(tmp_path / "lock", lambda: None) as descriptor:
        assert not os.get_inheritable(descriptor)
    assert is_free(tmp_path / "lock")
