# SPDX-License-Identifier: Apache-2.0
"""Real process trees: children with the titles that vLLM gives its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

# A root that starts children on demand: one line on its input is a title, answered with the child's pid. `-TITLE` ends
# that child, `!TITLE` leaves it an orphan whose parent ends. A title is argv[0], as setproctitle makes it.
ROOT = """
import os, subprocess, sys
CHILD = "import time; time.sleep(600)"
children = {}
def start(title):
    return subprocess.Popen([title, "-c", CHILD], executable=sys.executable)
for line in sys.stdin:
    word = line.rstrip("\\n")
    if word.startswith("-"):
        child = children.pop(word[1:]); child.kill(); child.wait(); print(child.pid, flush=True)
    elif word.startswith("!"):
        between = subprocess.run(
            [sys.executable, "-c", "import subprocess, sys; print(subprocess.Popen([sys.argv[1], '-c', sys.argv[2]],"
             " executable=sys.executable, stdout=subprocess.DEVNULL).pid)", word[1:], CHILD], stdout=subprocess.PIPE)
        print(int(between.stdout), flush=True)
    else:
        children[word] = start(word); print(children[word].pid, flush=True)
"""


def wait_for_title(pid: int, title: str) -> None:
    """Wait until /proc shows a child by its title: on a busy machine that is a little after its start."""
    for _ in range(12_000):
        if Path(f"/proc/{pid}/cmdline").read_bytes().startswith(title.encode()):
            return
        time.sleep(0.01)
    raise AssertionError(f"process {pid} does not show the title {title!r}")


class Root:
    """A process with children, in a session of its own."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", ROOT],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    @property
    def pid(self) -> int:
        return self.process.pid

    def tell(self, word: str) -> int:
        """Start a child with a title (`TITLE`), end it (`-TITLE`) or start an orphan (`!TITLE`); return its pid."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(f"{word}\n")
        self.process.stdin.flush()
        pid = int(self.process.stdout.readline())
        if not word.startswith("-"):
            wait_for_title(pid, word.removeprefix("!"))
        return pid

    def end(self) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        self.process.communicate()


@pytest.fixture
def root() -> Iterator[Root]:
    made = Root()
    yield made
    made.end()


@pytest.fixture
def until() -> Callable[[Callable[[], bool]], None]:
    """Calls a condition until it holds, at least two minutes long."""

    def wait(condition: Callable[[], bool]) -> None:
        for _ in range(2400):
            if condition():
                return
            time.sleep(0.05)
        pytest.fail("the condition did not come true within two minutes")

    return wait
