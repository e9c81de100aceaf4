# SPDX-License-Identifier: Apache-2.0
"""The real command, in a process of its own."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest

LIMIT_SECONDS = 840.0  # pytest's own is 900
Command = Callable[..., "subprocess.CompletedProcess[str]"]


def variables() -> dict[str, str]:
    """The environment of a user who has not set anything of ours but the cache."""
    ours = {name for name in os.environ if name.startswith("VLLM_SOAK_")} - {"VLLM_SOAK_CACHE"}
    kept = {name: value for name, value in os.environ.items() if name not in ours}
    return {**kept, "OMP_NUM_THREADS": "1", "COLUMNS": "120"}


@pytest.fixture(scope="session")
def command() -> Command:
    """Runs `vllm-soak` with arguments to its end."""

    def run(*arguments: object, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
        line = [sys.executable, "-m", "vllm_soak", *map(str, arguments)]
        return subprocess.run(
            line, capture_output=True, text=True, timeout=LIMIT_SECONDS, check=False, cwd=cwd, env=variables()
        )

    return run


class Running:
    """A `vllm-soak` under way, whose lines can be waited for."""

    def __init__(self, *arguments: object) -> None:
        line = [sys.executable, "-u", "-m", "vllm_soak", *map(str, arguments)]
        self.process = subprocess.Popen(
            line,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=variables(),
            start_new_session=True,
        )
        self.lines: list[str] = []

    def wait_for(self, text: str) -> None:
        """Read lines until one holds `text`."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.append(line)
            if text in line:
                return
        raise AssertionError(f"ended without saying {text!r}: {''.join(self.lines)}")

    def end(self) -> int:
        """Read to the end and return the exit code."""
        rest, _ = self.process.communicate(timeout=LIMIT_SECONDS)
        self.lines.append(rest)
        return self.process.returncode

    @property
    def output(self) -> str:
        """Everything it has said so far."""
        return "".join(self.lines)


@pytest.fixture
def start() -> Iterator[Callable[..., Running]]:
    """Starts `vllm-soak` in the background; what still runs at the end of the test is ended."""
    started: list[Running] = []

    def begin(*arguments: object) -> Running:
        started.append(Running(*arguments))
        return started[-1]

    yield begin
    for one in started:
        if one.process.poll() is None:
            one.process.send_signal(signal.SIGKILL)
        one.process.communicate()


@pytest.fixture(scope="session")
def read_report() -> Callable[[Path], dict[str, Any]]:
    """Reads a run folder's `report.json`."""

    def read(folder: Path) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((folder / "report.json").read_text())
        return found

    return read


@pytest.fixture(scope="session")
def gone() -> Callable[[int], bool]:
    """Waits up to two minutes for a process to be gone."""

    def wait(pid: int) -> bool:
        for _ in range(1200):
            if not Path(f"/proc/{pid}").exists():
                return True
            time.sleep(0.1)
        return False

    return wait


@pytest.fixture(scope="session")
def eventually() -> Callable[[Callable[[], bool]], None]:
    """Waits for a condition, at least two minutes long."""

    def wait(condition: Callable[[], bool]) -> None:
        for _ in range(2400):
            if condition():
                return
            time.sleep(0.05)
        pytest.fail("the condition did not come true within two minutes")

    return wait


@pytest.fixture(scope="session")
def integrity() -> Callable[[Path], list[str]]:
    """What SQLite says of a run's file: `ok` alone when nothing is wrong with it."""

    def check(folder: Path) -> list[str]:
        with closing(sqlite3.connect(folder / "run.sqlite")) as connection:
            return [row[0] for row in connection.execute("PRAGMA integrity_check")]

    return check


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Callable[[int], Path]]:
    """Mounts a file system of so many MiB, which is gone after the test."""
    with ExitStack() as stack:

        def mount(mebibytes: int) -> Path:
            folder = tmp_path / "disk"
            folder.mkdir()
            line = ["mount", "-t", "tmpfs", "-o", f"size={mebibytes}m", "tmpfs", str(folder)]
            if shutil.which("mount") is None or subprocess.run(line, capture_output=True, check=False).returncode:
                pytest.skip("file systems cannot be mounted here")
            stack.callback(subprocess.run, ["umount", "--lazy", str(folder)], check=True)
            return folder

        yield mount
