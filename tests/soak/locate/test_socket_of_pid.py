# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

import vllm_soak
from vllm_soak.errors import UsageError
from vllm_soak.locate.socket_of_pid import find_socket
from vllm_soak.probe.client import ProbeClient

PACKAGE = Path(vllm_soak.__file__).parents[1]
PROBE = ("-m", "vllm_soak.probe")


def test_the_folder_that_the_process_was_given_is_looked_in(serve: Callable[..., Any], tmp_path: Path) -> None:
    service = serve(*PROBE, VLLM_SOAK_PROBE=str(tmp_path / "a folder"))
    assert find_socket(service.pid) == tmp_path / "a folder" / f"{service.pid}.sock"


@pytest.mark.parametrize(
    ("variable", "folder"), [("XDG_RUNTIME_DIR", "vllm-soak"), ("TMPDIR", f"vllm-soak-{os.getuid()}")]
)
def test_the_default_folder_of_the_process_is_looked_in(
    serve: Callable[..., Any], tmp_path: Path, variable: str, folder: str
) -> None:
    service = serve(*PROBE, **{variable: str(tmp_path)})
    assert find_socket(service.pid) == tmp_path / folder / f"{service.pid}.sock"


def test_a_probe_that_was_turned_off_is_not_there(serve: Callable[..., Any], tmp_path: Path) -> None:
    service = serve(*PROBE, VLLM_SOAK_PROBE="0", TMPDIR=str(tmp_path))
    with pytest.raises(UsageError, match="carries no probe"):
        find_socket(service.pid)


def test_a_process_of_another_user_is_said_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_pid: int, _signal: int) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "kill", refuse)
    with pytest.raises(UsageError, match="belongs to another user"):
        find_socket(1)


def test_a_folder_is_named_from_where_the_process_stands(
    serve: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "there").mkdir()
    monkeypatch.chdir(tmp_path / "there")
    service = serve(*PROBE, VLLM_SOAK_PROBE="sockets")
    monkeypatch.chdir(tmp_path)
    assert find_socket(service.pid) == tmp_path / "there" / "sockets" / f"{service.pid}.sock"


def test_a_process_in_a_container_is_found_by_its_number_outside(tmp_path: Path) -> None:
    """A process namespace of its own stands for the container: there it is number 1."""
    program = "import vllm_soak.probe, sys; print(vllm_soak.probe.arm(), flush=True); sys.stdin.readline()"
    line = ["unshare", "--fork", "--pid", "--mount-proc", "--kill-child", sys.executable, "-c", program]
    variables = {"PATH": os.environ["PATH"], "PYTHONPATH": str(PACKAGE), "VLLM_SOAK_PROBE": str(tmp_path)}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(line, env=variables, text=True, **pipes) as process:
        assert process.stdout is not None
        if process.stdout.readline().strip() != str(tmp_path / "1.sock"):
            pytest.skip("a process namespace cannot be made here")
        (inside,) = psutil.Process(process.pid).children()
        found = find_socket(inside.pid)
        assert found == Path(f"/proc/{inside.pid}/root{tmp_path}/1.sock")
        assert ProbeClient(found).ping()["pid"] == 1
        process.communicate("\n")
