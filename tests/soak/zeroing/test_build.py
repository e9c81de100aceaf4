# SPDX-License-Identifier: Apache-2.0
"""The build target of the CUDA library: found, left out in one line, or demanded."""

from __future__ import annotations

import os
import shutil
import subprocess

import pytest

pytestmark = pytest.mark.skipif(not (shutil.which("cmake") and shutil.which("cc")), reason="no CMake, or no C compiler")


@pytest.fixture
def configure(root, tmp_path):
    """Configure a build of its own, and return CMake's exit status and words."""

    def run(*options: str, **environment: str) -> tuple[int, str]:
        command = ["cmake", "-S", str(root), "-B", str(tmp_path / "build"), *options]
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=600, env=os.environ | environment
        )
        return done.returncode, done.stdout + done.stderr

    return run


@pytest.fixture
def no_toolkit(monkeypatch, tmp_path):
    """A PATH with all that is on the real one but nvcc, and no other hint."""
    tools = tmp_path / "tools"
    tools.mkdir()
    for folder in reversed(os.environ["PATH"].split(os.pathsep)):
        for tool in os.scandir(folder) if os.path.isdir(folder) else ():  # noqa: PTH112 - a PATH's words
            (tools / tool.name).unlink(missing_ok=True)
            (tools / tool.name).symlink_to(tool.path)
    (tools / "nvcc").unlink(missing_ok=True)
    monkeypatch.setenv("PATH", str(tools))
    for hint in ("CUDACXX", "CUDA_HOME", "CUDA_PATH"):
        monkeypatch.delenv(hint, raising=False)


def said(output: str) -> list[str]:
    return [line for line in output.splitlines() if "zero_blocks_cuda" in line]


def test_off_is_one_line(configure):
    status, output = configure("-DVLLM_SOAK_CUDA=OFF")
    assert (status, said(output)) == (0, ["-- vllm-soak: zero_blocks_cuda is not built: VLLM_SOAK_CUDA=OFF"])


def test_no_toolkit_is_one_line(configure):
    status, output = configure("-DVLLM_SOAK_NVCC=")  # as if the search had found none
    assert (status, said(output)) == (0, ["-- vllm-soak: zero_blocks_cuda is not built: no CUDA toolkit was found"])


@pytest.mark.usefixtures("no_toolkit")
def test_on_makes_it_an_error(configure, tmp_path):
    status, output = configure("-DVLLM_SOAK_CUDA=ON", CUDACXX=str(tmp_path / "nvcc"))
    assert status != 0
    assert "CUDA" in output


def test_a_toolkit_outside_of_path_is_used(configure, request):
    nvcc = shutil.which("nvcc")
    if nvcc is None:
        pytest.skip("no CUDA toolkit")
    request.getfixturevalue("no_toolkit")
    status, output = configure(f"-DVLLM_SOAK_NVCC={nvcc}")
    assert (status, said(output)) == (0, []), output
    assert "CUDA compiler identification" in output
