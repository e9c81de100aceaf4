# SPDX-License-Identifier: Apache-2.0
"""A run in a folder, and one record of each kind."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest

from vllm_soak.store.record import MEASURED, Census, PatchRow, Population, Round, Sample, Step
from vllm_soak.store.writer import RunStore

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
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
        "patch": PatchRow("run", "EngineCore", "new-block-ids", "applied", "", "vLLM PR 44490", "0.18.0-0.25.1"),
    }  # fmt: skip


@pytest.fixture
def passable() -> Callable[[Path], None]:
    """Let another user pass through pytest's private folders down to a test's own."""

    def open_up(folder: Path) -> None:
        for parent in (*list(folder.parents)[:2], folder):
            if parent.stat().st_uid == os.getuid():
                parent.chmod(parent.stat().st_mode | 0o055)

    return open_up
