# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from importlib import metadata
from pathlib import Path

import pytest

from vllm_soak.environments.pip_settings import PipSettings
from vllm_soak.environments.uv_tool import UvError, UvTool, environment, find_uv, uv_version

Tool = Callable[..., UvTool]


@pytest.fixture
def tool(tmp_path: Path) -> Iterator[Tool]:
    """uv, or a program in its place, whose lines go to a list."""
    with (tmp_path / "lock").open("w") as lock:

        def make(lines: list[str], script: str = "") -> UvTool:
            if not script:
                return UvTool(lines.append, lock.fileno(), tmp_path)
            program = tmp_path / "program"
            program.write_text(f"#!/bin/sh\n{script}\n")
            program.chmod(program.stat().st_mode | stat.S_IXUSR)
            return UvTool(lines.append, lock.fileno(), tmp_path, str(program))

        yield make


def test_lines_are_passed_on_as_they_come(tool: Tool) -> None:
    lines: list[str] = []
    output = tool(lines, "echo '  one '; echo; echo two >&2").run()
    assert lines == ["one", "two"]
    assert output == "  one \n\ntwo\n"


def test_quiet_answers_with_everything_and_says_nothing(tool: Tool) -> None:
    lines: list[str] = []
    output = tool(lines, "i=0; while [ $i -lt 1000 ]; do echo $i; i=$((i+1)); done; echo no >&2").run(quiet=True)
    assert output.split() == [str(number) for number in range(1000)]
    assert lines == []


def test_failure_keeps_the_last_words(tool: Tool) -> None:
    with pytest.raises(UvError) as caught:
        tool([], "i=0; while [ $i -lt 1000 ]; do echo line $i; i=$((i+1)); done; exit 2").run()
    assert caught.value.text.endswith("line 999\n")
    assert "line 0\n" not in caught.value.text


def test_uv_itself_answers(tool: Tool) -> None:
    assert tool([]).run("--version").split()[1] == uv_version() == metadata.version("uv")
    assert os.access(find_uv(), os.X_OK)


def test_trouble_of_the_listener_ends_the_program(tool: Tool, tmp_path: Path) -> None:
    def broken(line: str) -> None:
        raise RuntimeError(line)

    program = tool([], "echo $$; exec sleep 600")
    listener = UvTool(broken, program.lock, tmp_path, program.binary)
    with pytest.raises(RuntimeError) as caught:
        listener.run()
    with pytest.raises(ProcessLookupError):
        os.kill(int(str(caught.value)), 0)


def test_variables_that_would_mislead_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UV_SYSTEM_PYTHON", "1")
    monkeypatch.setenv("UV_OFFLINE", "1")
    variables = environment(PipSettings(variables={"SSL_CERT_FILE": "/c.pem"}))
    assert "UV_SYSTEM_PYTHON" not in variables
    assert (variables["UV_OFFLINE"], variables["SSL_CERT_FILE"]) == ("1", "/c.pem")
