# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import functools
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import vllm_soak
from vllm_soak.errors import UsageError
from vllm_soak.locate.windows import Windows
from vllm_soak.probe.address import short_name

# Seconds of a window, long enough for an end in the second one to come before there are enough for a verdict.
FAR_APART = 3
Command = Callable[..., "subprocess.CompletedProcess[str]"]
# Seconds of a window: on a machine that is busy short ones tell uneven growth, so longer ones are tried.
INTERVALS = (0.5, 3, 15)


def answer(command: Command, *arguments: object) -> subprocess.CompletedProcess[str]:
    """What `locate` says, with windows as long as an answer takes."""
    for interval in INTERVALS:
        done = command("locate", *arguments, "--rounds", 5, "--interval", interval, "--max-rounds", 10)
        if done.returncode != 2:
            break
    return done


def test_a_leak_in_a_running_service_is_named(serve: Callable[..., Any], command: Command, tmp_path: Path) -> None:
    service = serve("-m", "vllm_soak.probe", VLLM_SOAK_PROBE=str(tmp_path))
    assert service.said[1:] == ["an", "argument"]
    service.load("/leaky")
    done = answer(command, "--pid", service.pid)
    assert done.returncode == 1, done.stdout + done.stderr
    assert f"service.py (pid {service.pid})" in done.stdout
    assert "└─ sessions: dict" in done.stdout
    assert "objects/second" in done.stdout
    assert "last" not in done.stdout.replace("the last", "")


def test_a_service_that_leaks_nothing_is_clean(serve: Callable[..., Any], command: Command, tmp_path: Path) -> None:
    service = serve("-m", "vllm_soak.probe", VLLM_SOAK_PROBE=str(tmp_path))
    service.load("/calm")
    done = answer(command, "--socket", tmp_path / f"{service.pid}.sock")
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


@pytest.mark.parametrize("pid", [0, -1])
def test_a_group_of_processes_is_no_process(command: Command, pid: int) -> None:
    done = command("locate", f"--pid={pid}")
    assert done.returncode == 64
    assert f"there is no process {pid}" in done.stderr


def test_a_socket_that_nobody_listens_to_is_wrong_usage(command: Command, tmp_path: Path) -> None:
    import socket

    path = tmp_path / "1.sock"
    with socket.socket(socket.AF_UNIX) as one, short_name(path) as name:
        one.bind(name)
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
    watching = start("locate", "--pid", service.pid, "--interval", FAR_APART, "--rounds", 1000)
    watching.wait_for("window 1 of 1000")
    watching.process.send_signal(signal.SIGINT)
    assert watching.end() == 2
    assert "INCONCLUSIVE" in watching.output


def test_a_process_that_ends_meanwhile_is_said_so(
    serve: Callable[..., Any], start: Callable[..., Any], tmp_path: Path
) -> None:
    service = serve("-m", "vllm_soak.probe", VLLM_SOAK_PROBE=str(tmp_path))
    watching = start("locate", "--pid", service.pid, "--interval", FAR_APART, "--rounds", 1000)
    watching.wait_for("window 1 of 1000")
    service.process.kill()
    assert watching.end() == 3
    assert "INCONCLUSIVE" in watching.output
    assert "is gone" in watching.output


def test_an_interruption_in_the_middle_of_the_first_census_is_an_answer_too(
    start: Callable[..., Any], tmp_path: Path
) -> None:
    """The census goes on in the process, for it cannot be taken back, and the process is none the worse."""
    import signal

    program = "import vllm_soak.probe as p; junk = [[i] for i in range(500_000)]; print(p.arm(), flush=True); input()"
    variables = {**os.environ, "PYTHONPATH": str(Path(vllm_soak.__file__).parents[1]), "VLLM_SOAK_PROBE": str(tmp_path)}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", program], env=variables, text=True, **pipes) as service:
        assert service.stdout is not None
        service.stdout.readline()
        watching = start("locate", "--pid", service.pid, "--max-pause-ms", 0.1)
        watching.wait_for(f"Python (pid {service.pid})")
        watching.process.send_signal(signal.SIGINT)
        assert watching.end() == 2
        assert "interrupted" in watching.output
        service.communicate("\n")
    assert service.returncode == 0


def test_a_process_that_is_stopped_is_not_called_dead(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import socket

    from vllm_soak.locate import attach

    monkeypatch.setattr(attach, "ProbeClient", functools.partial(attach.ProbeClient, quick=0.2))
    with socket.socket(socket.AF_UNIX) as one:
        with short_name(tmp_path / "1.sock") as name:
            one.bind(name)
        one.listen()
        with pytest.raises(UsageError) as caught:
            attach.connected(tmp_path / "1.sock")
    assert "try again" in caught.value.remedy
