# SPDX-License-Identifier: Apache-2.0
"""Runs tests/vllm_mlx inside environments of the engines on mlx: their tests need the engines' own classes."""

from __future__ import annotations

import importlib.metadata
import os
import subprocess
import sys
from pathlib import Path

import pytest

from vllm_soak.environments.cache import ensure

TESTS = Path(__file__).parent
PACKAGE = TESTS.parent / "benchmarks" / "soak"
# Both ends of the MTP defect's range that can be reached here, the first fixed release, and the other engine.
RELEASES = ("rapid-mlx==0.10.18", "rapid-mlx==0.12.18", "rapid-mlx==0.13.1", "rapid-mlx==0.13.2", "vllm-mlx==0.4.1")
LIMIT_SECONDS = 600  # of a hang


@pytest.fixture(scope="session")
def mlx_test_libraries(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with pytest and hypothesis, for environments that must stay as they are."""
    folder = tmp_path_factory.mktemp("test-libraries")
    pins = [f"{name}=={importlib.metadata.version(name)}" for name in ("pytest", "hypothesis")]
    command = [sys.executable, "-m", "uv", "pip", "install", "--quiet", "--target", str(folder), *pins]
    subprocess.run(command, check=True, env=os.environ | {"UV_PYTHON": sys.executable})
    return folder


@pytest.mark.engine
@pytest.mark.parametrize("release", RELEASES)
def test_engine_side_suite(release: str, mlx_test_libraries: Path, tmp_path: Path) -> None:
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join([str(PACKAGE), str(mlx_test_libraries)]),
        "HOME": str(tmp_path),  # the engine's own caches
        "HF_HUB_OFFLINE": "1",
        "OMP_NUM_THREADS": "1",
    }
    for name in ("VLLM_SOAK_PATCHES", "VLLM_SOAK_PROBE", "PYTEST_ADDOPTS"):
        environment.pop(name, None)
    suite = TESTS / "vllm_mlx"
    command = [str(ensure(release, on_progress=print).python), "-m", "pytest", "-q", str(suite)]
    done = subprocess.run(
        [*command, "-c", str(suite / "pytest.ini")],
        cwd=tmp_path,  # not the repository, whose folder vllm_mlx/ has no engine in it
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=LIMIT_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    assert " passed" in done.stdout, done.stdout
