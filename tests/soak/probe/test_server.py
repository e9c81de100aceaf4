# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import contextlib
import json
import os
import socket
import stat
import threading
from typing import TYPE_CHECKING

import pytest

from vllm_soak.errors import EngineError
from vllm_soak.probe import server as server_module
from vllm_soak.probe.address import short_name
from vllm_soak.probe.client import ProbeClient
from vllm_soak.probe.server import LONGEST_REQUEST, Server, arm, is_same_user

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable
    from pathlib import Path

ARMED = """
    from vllm_soak.probe.server import arm
    print(arm(), flush=True)
    input()
"""


def answers(client: ProbeClient) -> bool:
    with contextlib.suppress(EngineError):
        return bool(client.ping())
    return False


def connect(one: socket.socket, path: Path) -> None:
    with short_name(path) as name:
        one.connect(name)


def talk(path: Path, request: bytes) -> bytes:
    with socket.socket(socket.AF_UNIX) as peer:
        connect(peer, path)
        peer.sendall(request)
        peer.shutdown(socket.SHUT_WR)
        return b"".join(iter(lambda: peer.recv(65536), b""))


def test_ping_says_who_answers(client: ProbeClient) -> None:
    found = client.ping()
    assert found["pid"] == os.getpid()
    assert set(found) == {"pid", "process", "version", "python"}


def test_a_sample_and_a_census_over_the_socket(client: ProbeClient) -> None:
    growing = [1]
    assert client.census(baseline=True)["populations"] == []
    growing += range(100)
    assert client.sample(watch=["growing"])["lengths"] == {"growing": 101}
    rows = {row["path"]: row for row in client.census()["populations"]}
    assert rows["growing"]["length"] == 101
    assert rows["growing"]["process"] == client.ping()["process"]


def test_the_probes_own_objects_are_not_reported(client: ProbeClient) -> None:
    client.census(baseline=True)
    for _ in range(3):
        paths = [row["path"] for row in client.census()["populations"]]
        assert not [path for path in paths if "_commands" in path or "_census" in path or "vllm_soak" in path]


def test_the_socket_is_the_users_alone(server: Server) -> None:
    assert stat.S_IMODE(server.path.stat().st_mode) == 0o600


@pytest.mark.parametrize(
    "request_line",
    [
        b"\n",
        b"not json\n",
        b"[1]\n",
        b'{"command": "exec"}\n',
        b'{"command": ["ping"]}\n',
        b"\xff\xfe\n",
        b"{}",
        b"9" * 5000 + b"\n",
    ],
)
def test_nonsense_is_answered_with_an_error_and_the_probe_lives(server: Server, request_line: bytes) -> None:
    answer = json.loads(talk(server.path, request_line))
    assert answer["error"]["cause"]
    assert answer["error"]["remedy"]
    assert ProbeClient(server.path).ping()["pid"] == os.getpid()


def test_a_request_that_is_too_long_is_refused(server: Server) -> None:
    answer = json.loads(talk(server.path, b" " * LONGEST_REQUEST + b"{}\n").splitlines()[0])
    assert "too long" in answer["error"]["cause"]
    assert ProbeClient(server.path).ping()["pid"] == os.getpid()


def test_a_client_that_says_nothing_is_dropped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_module, "PATIENCE", 0.2)
    server = Server(tmp_path / "probe.sock")
    server.start()
    with socket.socket(socket.AF_UNIX) as idle:
        idle.settimeout(120)
        connect(idle, server.path)
        assert idle.recv(1) == b""
    monkeypatch.undo()  # a client that means well may be slower than that
    assert ProbeClient(server.path).ping()["pid"] == os.getpid()
    server.close()


def test_what_a_killed_process_of_the_same_pid_left_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "7.sock"
    with socket.socket(socket.AF_UNIX) as left, short_name(path) as name:
        left.bind(name)
    assert path.is_socket()
    server = Server(path)
    server.start()
    try:
        assert answers(ProbeClient(path))
    finally:
        server.close()


def test_several_requests_on_one_connection(server: Server) -> None:
    lines = talk(server.path, b'{"command": "ping"}\n' * 3).splitlines()
    assert [json.loads(line)["pid"] for line in lines] == [os.getpid()] * 3


def test_another_user_is_refused(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_module, "is_same_user", lambda _client: False)
    with pytest.raises(EngineError, match="is gone"):
        ProbeClient(server.path).ping()
    left, right = socket.socketpair()
    with left, right:
        assert is_same_user(left)


def test_not_armed_unless_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    threads = {*threading.enumerate()}
    for value in ("", "0"):
        monkeypatch.setenv("VLLM_SOAK_PROBE", value)
        assert arm() is None
    monkeypatch.delenv("VLLM_SOAK_PROBE")
    assert arm() is None
    assert {*threading.enumerate()} <= threads  # those of other tests may end


def test_a_folder_that_cannot_be_made_is_no_failure_of_the_engines(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("VLLM_SOAK_PROBE", str(tmp_path / "file" / "folder"))
    assert arm() is None


def test_arming_twice_gives_one_probe_and_leaving_removes_its_socket(
    target: Callable[..., subprocess.Popen[str]], tmp_path: Path
) -> None:
    process = target(
        """
        import threading
        from vllm_soak.probe.server import arm
        first = arm()
        print(first, first == arm(), sum(t.name == "vllm-soak-probe" for t in threading.enumerate()), flush=True)
        input()
        """,
        folder=tmp_path / "probe",
    )
    assert process.stdout is not None
    path, same, threads = process.stdout.readline().split()
    assert (same, threads) == ("True", "1")
    assert stat.S_IMODE((tmp_path / "probe").stat().st_mode) == 0o700
    assert ProbeClient(path).ping()["process"] == "Python"
    process.communicate("\n")
    assert process.returncode == 0
    assert list((tmp_path / "probe").iterdir()) == []


def test_a_forked_child_answers_for_itself_and_cleans_up(
    target: Callable[..., subprocess.Popen[str]], tmp_path: Path, eventually: Callable[..., None]
) -> None:
    process = target("""
        import multiprocessing, sys
        from vllm_soak.probe.server import arm
        arm()
        context = multiprocessing.get_context("fork")
        leave = context.Event()
        child = context.Process(target=leave.wait, name="EngineCore")
        child.start()
        print(child.pid, flush=True)
        input()
        leave.set()
        child.join()
        print(child.exitcode, flush=True)
        input()
    """)
    assert process.stdout is not None
    assert process.stdin is not None
    pid = int(process.stdout.readline())
    parent = ProbeClient(tmp_path / f"{process.pid}.sock")
    child = ProbeClient(tmp_path / f"{pid}.sock")
    eventually(lambda: answers(child))
    assert (child.ping()["pid"], child.ping()["process"]) == (pid, "EngineCore")
    assert parent.ping()["pid"] == process.pid
    process.stdin.write("\n")
    process.stdin.flush()
    assert process.stdout.readline() == "0\n"
    assert [path.name for path in tmp_path.iterdir()] == [f"{process.pid}.sock"]
    assert parent.ping()["pid"] == process.pid


def test_the_socket_of_a_killed_process_is_swept_by_the_next(
    target: Callable[..., subprocess.Popen[str]], tmp_path: Path
) -> None:
    killed = target(ARMED)
    assert killed.stdout is not None
    killed.stdout.readline()
    killed.kill()
    killed.wait()
    assert (tmp_path / f"{killed.pid}.sock").exists()
    follower = target(ARMED)
    assert follower.stdout is not None
    follower.stdout.readline()
    assert [path.name for path in tmp_path.iterdir()] == [f"{follower.pid}.sock"]
