# SPDX-License-Identifier: Apache-2.0
"""Clients that mean ill or are broken, other users, forks, and processes that end in the middle of an answer."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from vllm_soak.errors import EngineError
from vllm_soak.probe import client as client_module
from vllm_soak.probe import server as server_module
from vllm_soak.probe.address import short_name
from vllm_soak.probe.client import ProbeClient
from vllm_soak.probe.server import LONGEST_REQUEST, MOST_REQUESTS, Server

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

PING = b'{"command": "ping"}\n'
NOBODY = 65534
# Asks as another user would: prints what came of it.
ASK = """
import socket, sys
peer = socket.socket(socket.AF_UNIX)
peer.settimeout(120)
try:
    peer.connect(sys.argv[1])
    peer.sendall(b'{"command": "ping"}\\n')
    print(peer.recv(1000) or "hung up")
except OSError as error:
    print(type(error).__name__)
"""
# A heap whose walk in slices of a tenth of a millisecond takes seconds.
BIG = """
    import sys, threading, time
    from vllm_soak.heap.native import NativeWalk
    from vllm_soak.probe.server import arm
    junk = [[one] for one in range(500_000)]
    print(arm(), flush=True)
    (probe,) = [one.ident for one in threading.enumerate() if one.name == "vllm-soak-probe"]
    def is_walking():
        frame = sys._current_frames()[probe]
        while frame and frame.f_code is not NativeWalk.run.__code__:
            frame = frame.f_back
        return bool(frame)
    while not is_walking():
        time.sleep(0.01)
    print("walking", flush=True)
    sys.stdin.readline()
"""


def connect(one: socket.socket, path: Path) -> None:
    with short_name(path) as name:
        one.connect(name)


def test_a_request_that_trickles_in_is_dropped_in_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_module, "PATIENCE", 0.3)
    server = Server(tmp_path / "probe.sock")
    server.start()
    until = time.monotonic() + 120
    with socket.socket(socket.AF_UNIX) as slow, contextlib.suppress(BrokenPipeError, ConnectionResetError):
        connect(slow, server.path)
        while time.monotonic() < until:
            slow.sendall(b" ")
            time.sleep(0.02)
    assert time.monotonic() < until
    monkeypatch.undo()  # a client that means well may be slower than that
    assert ProbeClient(server.path).ping()["pid"] == os.getpid()
    server.close()


def ask_for_ever(peer: socket.socket) -> None:
    """Until both ways are full, and then until it is dropped."""
    while True:
        peer.sendall(PING * 100)


def test_a_client_that_takes_no_answer_is_dropped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_module, "PATIENCE", 0.3)
    monkeypatch.setattr(server_module, "MOST_REQUESTS", 1 << 40)  # that is not why
    server = Server(tmp_path / "probe.sock")
    server.start()
    with socket.socket(socket.AF_UNIX) as deaf:
        deaf.settimeout(120)
        connect(deaf, server.path)
        with pytest.raises((BrokenPipeError, ConnectionResetError)):
            ask_for_ever(deaf)
    monkeypatch.undo()  # a client that means well may be slower than that
    assert ProbeClient(server.path).ping()["pid"] == os.getpid()
    server.close()


@pytest.mark.parametrize("line", [b"[" * 60_000, b'{"a":' * 10_000, b"-" * 60_000, b'"\\ud800"'])
def test_json_that_is_made_to_hurt_is_answered_with_an_error(server: Server, line: bytes) -> None:
    assert len(line) < LONGEST_REQUEST
    with socket.socket(socket.AF_UNIX) as peer:
        connect(peer, server.path)
        peer.sendall(line + b"\n")
        assert "does not know" in json.loads(peer.recv(65536))["error"]["cause"]


def test_nobody_keeps_the_probe_to_himself(server: Server) -> None:
    with socket.socket(socket.AF_UNIX) as greedy, greedy.makefile("rb") as answers:
        greedy.settimeout(120)
        connect(greedy, server.path)
        greedy.sendall(PING * (MOST_REQUESTS + 1))
        assert sum(1 for _ in answers) == MOST_REQUESTS


def test_many_at_once_are_all_answered(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_module, "PATIENCE", 300.0)
    answers: list[int] = []

    def ask() -> None:
        answers.append(ProbeClient(server.path, quick=300.0).ping()["pid"])

    threads = [threading.Thread(target=ask) for _ in range(200)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert answers == [os.getpid()] * 200


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that everybody may enter."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


def asked_as_nobody(path: Path) -> str:
    for python in (sys.executable, "/usr/bin/python3", "/usr/local/bin/python3"):
        with contextlib.suppress(OSError, subprocess.CalledProcessError):
            line = [python, "-I", "-S", "-c", ASK, str(path)]
            done = subprocess.run(line, user=NOBODY, cwd="/", capture_output=True, text=True, check=True)
            return done.stdout.strip()
    pytest.skip("there is no Python here that another user can run")


@pytest.mark.skipif(os.geteuid() != 0, reason="becoming another user takes root")
def test_another_user_is_kept_out_by_the_folder_by_the_socket_and_by_the_probe(open_folder: Path) -> None:
    server = Server(open_folder / "probe.sock")
    server.start()
    assert asked_as_nobody(server.path) == "PermissionError"
    server.path.chmod(0o666)
    assert asked_as_nobody(server.path) in {"hung up", "ConnectionResetError", "BrokenPipeError"}
    open_folder.chmod(0o700)
    assert asked_as_nobody(server.path) == "PermissionError"
    server.close()


def test_a_probe_of_another_user_is_not_believed(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: NOBODY)
    monkeypatch.setattr(client_module, "is_same_user", lambda _peer: False)
    with pytest.raises(EngineError, match="belongs to another user") as caught:
        ProbeClient(server.path).ping()
    assert "run as the user" in caught.value.remedy


def test_a_fork_lets_go_of_its_parents_conversation(target: Callable[..., subprocess.Popen[str]]) -> None:
    process = target("""
        import os, sys, time
        from vllm_soak.probe.server import arm
        print(arm(), flush=True)
        sys.stdin.readline()
        child = os.fork()
        if not child:
            time.sleep(300)
            os._exit(0)
        print("forked", flush=True)
        sys.stdin.readline()
        os.kill(child, 9)
    """)
    assert process.stdout is not None
    assert process.stdin is not None
    path = Path(process.stdout.readline().strip())
    with socket.socket(socket.AF_UNIX) as peer, peer.makefile("rb") as answers:
        peer.settimeout(120)
        connect(peer, path)
        peer.sendall(PING)
        answers.readline()
        process.stdin.write("\n")
        process.stdin.flush()
        assert process.stdout.readline() == "forked\n"
        peer.sendall(PING * (MOST_REQUESTS - 1))
        assert sum(1 for _ in answers) == MOST_REQUESTS - 1  # and an end, which a copy in the child would hold back
    process.communicate("\n")
    assert process.returncode == 0


@pytest.mark.parametrize("end", ["leaves", "is killed"])
def test_a_process_that_ends_in_the_middle_of_a_census(target: Callable[..., subprocess.Popen[str]], end: str) -> None:
    process = target(BIG)
    assert process.stdout is not None
    client, failures = ProbeClient(process.stdout.readline().strip()), []

    def walk() -> None:
        try:
            client.census(max_pause_ms=0.1)
        except EngineError as failure:
            failures.append(str(failure))

    asking = threading.Thread(target=walk)
    asking.start()
    assert process.stdout.readline() == "walking\n"
    if end == "leaves":
        process.communicate("\n")
        assert process.returncode == 0
    else:
        process.kill()
        process.wait()
    asking.join()
    assert len(failures) == 1
    assert "is gone" in failures[0]
