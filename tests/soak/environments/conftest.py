# SPDX-License-Identifier: Apache-2.0
"""Engine environments, and child processes that play the controller."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import vllm_soak
from vllm_soak.environments.cache import EngineEnvironment, ensure, environments_folder
from vllm_soak.environments.releases import newest_tested

Controller = Callable[..., "subprocess.Popen[str]"]
Listing = Callable[[Path], set[str]]


@pytest.fixture(scope="session")
def engine_cache() -> Path:
    """The session's cache of environments; it stays in the checkout, so only a clean clone pays for it."""
    return Path(os.environ["VLLM_SOAK_CACHE"])


@pytest.fixture(scope="session")
def scheduler_environment(engine_cache: Path) -> EngineEnvironment:
    """The newest tested release, fit for the scheduler at least; tests leave it as it is."""
    environment = ensure(newest_tested(), "scheduler")
    assert environment.folder.is_relative_to(engine_cache)
    return environment


@pytest.fixture(scope="module")
def scratch_cache(engine_cache: Path) -> Iterator[Path]:
    """An empty cache that tests may spoil, on the file system of the other one so that files can be shared."""
    engine_cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=engine_cache.parent, prefix="scratch-") as folder:
        yield Path(folder)


@pytest.fixture
def use(monkeypatch: pytest.MonkeyPatch) -> Callable[[Path], Path]:
    """Make a folder the cache; its folder of environments."""

    def choose(folder: Path) -> Path:
        monkeypatch.setenv("VLLM_SOAK_CACHE", str(folder))
        return environments_folder()

    return choose


@pytest.fixture
def child_variables() -> Callable[[], dict[str, str]]:
    """The variables in force, with which a child Python also sees the package under test."""
    return lambda: {**os.environ, "PYTHONPATH": str(Path(vllm_soak.__file__).parents[1])}


@pytest.fixture
def controller(child_variables: Callable[[], dict[str, str]], tmp_path: Path) -> Iterator[Controller]:
    """Start a program in a child Python, in a process group of its own; all are ended with the test."""
    children: list[subprocess.Popen[str]] = []

    def start(program: str, *arguments: str, **variables: str) -> subprocess.Popen[str]:
        child = subprocess.Popen(
            [sys.executable, "-c", program, *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            cwd=tmp_path,
            env={**child_variables(), "PYTHONUNBUFFERED": "1", **variables},
            start_new_session=True,
        )
        children.append(child)
        return child

    yield start
    for child in children:
        child.kill()
        child.wait()
        if child.stdout is not None:
            child.stdout.close()


@pytest.fixture(scope="session")
def left_in() -> Listing:
    """Names in a folder of environments, without the lock files, which stay by design."""

    def listing(folder: Path) -> set[str]:
        return {path.name for path in folder.iterdir() if path.suffix != ".lock"}

    return listing
