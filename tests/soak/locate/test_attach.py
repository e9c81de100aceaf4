# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from vllm_soak.errors import UsageError
from vllm_soak.locate.windows import Windows

Command = Callable[..., "subprocess.CompletedProcess[str]"]
QUICK = ("--rounds", 5, "--interval", 1, "--max-rounds", 25)


def test_a_leak_in_a_running_service_is_named(serve: Callable[..., Any], command: Command, tmp_path: Path) -> None:
    service = serve("-m", "vllm_soak.probe", VLLM_SOAK_PROBE=str(tmp_path))
    assert service.said[1:] == ["an", "argument"]
    service.load("/leaky")
    done = command("locate", "--pid", service.pid, *QUICK)
    assert done.returncode == 1, done.stdout + done.stderr
    assert f"service.py (pid {service.pid})" in done.stdout
    assert "└─ sessions: dict" in done.stdout
    assert "objects/second" in done.stdout
    assert "last" not in done.stdout.replace("the last", "")


def test_a_service_that_leaks_nothing_is_clean(serve: Callable[..., Any], command: Command, tmp_path: Path) -> None:
    service = serve("-m", "vllm_soak.probe", VLLM_SOAK_PROBE=str(tmp_path))
    service.load("/calm")
    done = command("locate", "--socket", tmp_path / f"{service.pid}.sock", "--rounds", 3, "--interval", 0.3)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "NO-LEAK" in done.stdout


def test_a_process_without_a_probe_is_wrong_usage(serve: Callable[..., Any], command: Command) -> None:
    service = serve()
    done = command("locate", "--pid", service.pid)
    assert done.returncode == 64
    assert f"process {service.pid} carries no probe" in done.stderr
    assert "python -m vllm_soak.probe" in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_process_that_is_not_there_is_wrong_usage(command: Command) -> None:
    gone = subprocess.Popen(["true"])
    gone.wait()
    done = command("locate", "--pid", gone.pid)
    assert (done.returncode, done.stdout) == (64, "")
    assert f"there is no process {gone.pid}" in done.stderr


def test_a_socket_that_nobody_listens_to_is_wrong_usage(command: Command, tmp_path: Path) -> None:
    import socket

    path = tmp_path / "1.sock"
    with socket.socket(socket.AF_UNIX) as one:
        one.bind(str(path))
    done = command("locate", "--socket", path)
    assert done.returncode == 64
    assert f"no probe answers at {path}" in done.stderr


@pytest.mark.parametrize("flags", [(), ("--pid", os.getpid(), "--socket", "x.sock"), ("--socket", "x.sock")])
def test_one_process_must_be_given(command: Command, flags: tuple[object, ...]) -> None:
    done = command("locate", *flags)
    assert done.returncode == 64
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    "windows",
    [
        Windows(rounds=2),
        Windows(interval=0.01),
        Windows(interval=1e9),
        Windows(max_pause_ms=-1),
        Windows(max_pause_ms=0.01),
    ],
)
def test_windows_that_lead_to_no_answer_are_refused(windows: Windows) -> None:
    with pytest.raises(UsageError):
        windows.check()


def test_what_was_seen_until_an_interruption_is_judged(
    serve: Callable[..., Any], start: Callable[..., Any], tmp_path: Path
) -> None:
    import signal

    service = serve("-m", "vllm_soak.probe", VLLM_SOAK_PROBE=str(tmp_path))
    watching = start("locate", "--pid", service.pid, "--interval", 0.5, "--rounds", 1000)
    watching.wait_for("window 1 of 1000")
    watching.process.send_signal(signal.SIGINT)
    assert watching.end() == 2
    assert "INCONCLUSIVE" in watching.output


def test_a_process_that_ends_meanwhile_is_said_so(
    serve: Callable[..., Any], start: Callable[..., Any], tmp_path: Path
) -> None:
    service = serve("-m", "vllm_soak.probe", VLLM_SOAK_PROBE=str(tmp_path))
    watching = start("locate", "--pid", service.pid, "--interval", 0.5, "--rounds", 1000)
    watching.wait_for("window 1 of 1000")
    service.process.kill()
    assert watching.end() == 3
    assert "INCONCLUSIVE" in watching.output
    assert "is gone" in watching.output
