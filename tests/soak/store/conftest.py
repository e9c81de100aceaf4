# SPDX-License-Identifier: Apache-2.0
"""A run in a folder, and one record of each kind."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from vllm_soak.store.record import MEASURED, Census, PatchRow, Population, Round, Sample, Step
from vllm_soak.store.writer import RunStore

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def store(tmp_path: Path) -> Iterator[RunStore]:
    with RunStore.create(tmp_path / "run", {"rounds": 5}) as made:
        made.add_arm("run")
        yield made


@pytest.fixture
def records() -> dict[str, Any]:
    return {
        "round": Round("run", 3, MEASURED, 2000, 8000, 4.5, 440_000, 2000,
                       {"bounds": [0.1, 1.0], "counts": [5, 4, 1], "sum": 2.5}, [(1000, 2.0), (1000, 2.5)]),
        "sample": Sample("run", "EngineCore", 4711, MEASURED, 3, 8000, 12.25,
                         {"in_use": 123456.0, "threads": 7.0}, {"engine.ids": 28_000}),
        "census": Census("run", "EngineCore", 3, 8000, 700_000, 200_000, 1.75, "python", "stopped at 200 rows"),
        "population": Population("run", "EngineCore", 3, 8000, "engine.a[0]", "engine.a[i]", "0123456789ab", "list",
                                 28_000, 224_056, 0.0, 65_521, "blocks of the pool",
                                 [Step("engine", "Engine"), Step("a[0]", "list")], ["int"]),
        "patch": PatchRow("run", "EngineCore", "new-block-ids", "applied", "", "vLLM PR 44490", "0.17.1-0.25.1"),
    }  # fmt: skip


@pytest.fixture
def passable() -> Callable[[Path], None]:
    """Let another user pass through pytest's private folders down to a test's own."""

    def open_up(folder: Path) -> None:
        for parent in (*list(folder.parents)[:3], folder):
            if parent.stat().st_uid == os.getuid():
                parent.chmod(parent.stat().st_mode | 0o055)

    return open_up


# Writes samples without end and says each number on standard output once it is acknowledged.
WRITER = """
import sys
from pathlib import Path
from vllm_soak.store.record import Census, Population, Sample
from vllm_soak.store.writer import RunStore
store = RunStore.create(Path(sys.argv[1]), {"writer": True})
store.add_arm("run")
for n in range(1_000_000):
    store.add_sample(Sample("run", "p", 1, "measured", n, n, 0.0, {"in_use": float(n), "pad" * 60: 1.0}))
    rows = [Population("run", "p", n, n, f"a[{i}]", "a[i]", "f" * 12, "list", n, 56) for i in range(20)]
    store.add_census(Census("run", "p", n, n, 1, 1, 0.1, "python"), rows)
    print(n, flush=True)
"""


Spawn = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def spawn() -> Spawn:
    """Start Python code in a process of its own."""

    def start(code: str, *args: object) -> subprocess.Popen[str]:
        command = [sys.executable, "-c", code, *map(str, args)]
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    return start


@pytest.fixture
def endless_writer(spawn: Spawn, tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """A process that writes a run to `tmp_path`; its first sample is acknowledged."""
    writer = spawn(WRITER, tmp_path)
    assert writer.stdout is not None
    assert writer.stdout.readline() == "0\n", writer.communicate()
    yield writer
    writer.kill()
    writer.communicate()
