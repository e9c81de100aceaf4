# SPDX-License-Identifier: Apache-2.0
"""Real hosts: in an interpreter without an engine, and in real engines' environments."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from vllm_soak.engines.models.build import build
from vllm_soak.engines.silence import Patience
from vllm_soak.engines.target import TargetProcess

PACKAGE = Path(__file__).resolve().parents[3] / "benchmarks" / "soak"
MakeTarget = Callable[..., TargetProcess]


def engine_environment(**extra: str) -> dict[str, str]:
    """This process's environment, quiet and offline, with this tree's package first."""
    quiet = {"VLLM_SOAK_PATCHES": "none", "VLLM_SOAK_PROBE": "0", "HF_HUB_OFFLINE": "1", "VLLM_NO_USAGE_STATS": "1"}
    limits = {"VLLM_CPU_KVCACHE_SPACE": "1", "OMP_NUM_THREADS": "1", "VLLM_ENABLE_V1_MULTIPROCESSING": "0"}
    return {**os.environ, **quiet, **limits, "PYTHONPATH": str(PACKAGE), **extra}


@pytest.fixture
def make_target(tmp_path: Path) -> Iterator[MakeTarget]:
    """Makes targets (by default in this interpreter, which has no engine) and ends them."""
    made: list[TargetProcess] = []

    def make(
        python: Path = Path(sys.executable), patience: Patience | None = None, folder: Path = tmp_path, **extra: str
    ) -> TargetProcess:
        log = folder / f"target-{len(made)}.log"
        environment = engine_environment(**extra)
        made.append(
            TargetProcess(python=python, log=log, probe_folder=folder, environment=environment, patience=patience)
        )
        return made[-1]

    yield make
    for target in made:
        target.stop()


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], str]:
    """Builds a tiny model once and answers with its folder."""
    folder = tmp_path_factory.mktemp("models")
    return lambda kind: str(build(kind, folder))


@pytest.fixture(scope="session")
def in_engine(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Any]:
    """Runs a script in an engine's interpreter; what it passes to `answer()` comes back."""

    def run(python: Path, script: str, *arguments: str) -> Any:
        folder = tmp_path_factory.mktemp("script")
        result = folder / "answer.json"
        head = f"import json, sys\ndef answer(value): open({str(result)!r}, 'w').write(json.dumps(value))\n"
        (folder / "script.py").write_text(head + script)
        done = subprocess.run(
            [str(python), str(folder / "script.py"), *arguments],
            env=engine_environment(),
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr[-3000:]
        return json.loads(result.read_text())

    return run
