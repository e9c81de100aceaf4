# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
from typing import TYPE_CHECKING

import pytest

from vllm_soak.errors import EngineError
from vllm_soak.patching.status import report
from vllm_soak.probe.address import short_name
from vllm_soak.probe.client import ProbeClient
from vllm_soak.probe.server import Server

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def bind(one: socket.socket, path: Path) -> None:
    with short_name(path) as name:
        one.bind(name)


def serve_once(path: Path, answer: Callable[[socket.socket], None]) -> threading.Thread:
    listener = socket.socket(socket.AF_UNIX)
    bind(listener, path)
    listener.listen()

    def run() -> None:
        with listener:
            peer, _ = listener.accept()
            with peer:
                peer.recv(1000)
                answer(peer)

    thread = threading.Thread(target=run)
    thread.start()
    return thread


def test_a_process_that_is_gone_is_an_engine_error(tmp_path: Path) -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    with pytest.raises(EngineError, match=f"process {ended.pid} is gone"):
        ProbeClient(tmp_path / f"{ended.pid}.sock").ping()


def test_a_process_that_nobody_has_reaped_is_gone(tmp_path: Path) -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""], stdout=subprocess.PIPE)
    assert ended.stdout is not None
    ended.stdout.read()  # end of file: it is ending, and becomes a zombie
    os.waitid(os.P_PID, ended.pid, os.WEXITED | os.WNOWAIT)
    with ended, pytest.raises(EngineError, match=f"process {ended.pid} is gone"):
        ProbeClient(tmp_path / f"{ended.pid}.sock").ping()


@pytest.mark.parametrize("folder", ["here", "long" * 40])
def test_a_live_process_without_a_probe_is_not_called_dead(tmp_path: Path, folder: str) -> None:
    (tmp_path / folder).mkdir()
    with pytest.raises(EngineError, match="its probe was not armed") as caught:
        ProbeClient(tmp_path / folder / f"{os.getpid()}.sock").patches()
    assert "gone" not in str(caught.value)
    assert "VLLM_PLUGINS" in caught.value.remedy


def test_a_socket_that_outlived_its_process_is_a_dead_peer(tmp_path: Path) -> None:
    path = tmp_path / f"{os.getpid()}.sock"
    with socket.socket(socket.AF_UNIX) as listener:
        bind(listener, path)
    with pytest.raises(EngineError, match=r"is gone \(.*refused"):
        ProbeClient(path).ping()


def test_a_process_that_dies_while_answering(tmp_path: Path) -> None:
    thread = serve_once(tmp_path / "1.sock", lambda peer: peer.sendall(b'{"pid": '))
    with pytest.raises(EngineError, match="is gone"):
        ProbeClient(tmp_path / "1.sock").ping()
    thread.join()


def test_a_process_with_too_many_callers_is_waited_for_and_not_called_dead(tmp_path: Path) -> None:
    path = tmp_path / "1.sock"
    with socket.socket(socket.AF_UNIX) as listener, socket.socket(socket.AF_UNIX) as other:
        bind(listener, path)
        listener.listen(0)
        with short_name(path) as name:
            other.connect(name)
        with pytest.raises(EngineError, match=r"did not answer the probe .* within 0.2 s"):
            ProbeClient(path, quick=0.2).ping()


def test_a_process_that_hangs(tmp_path: Path) -> None:
    done = threading.Event()
    thread = serve_once(tmp_path / "1.sock", lambda _peer: (done.wait(), None)[1])
    with pytest.raises(EngineError, match=r"did not answer the probe .* within 0.2 s"):
        ProbeClient(tmp_path / "1.sock", quick=0.2).ping()
    done.set()
    thread.join()


def test_a_failure_inside_the_probe_is_told(tmp_path: Path) -> None:
    answer = b'{"error": {"cause": "it failed", "remedy": "do better"}}\n'
    thread = serve_once(tmp_path / "1.sock", lambda peer: peer.sendall(answer))
    with pytest.raises(EngineError, match="it failed: do better"):
        ProbeClient(tmp_path / "1.sock").ping()
    thread.join()


def test_patches_are_rows(client: ProbeClient) -> None:
    with client as same:
        assert same.patches() == report(client.ping()["process"])


def test_a_socket_with_a_long_path(tmp_path: Path) -> None:
    folder = tmp_path / ("long" * 30) / ("name" * 30)
    folder.mkdir(parents=True)
    server = Server(folder / f"{os.getpid()}.sock")
    server.start()
    try:
        assert len(str(server.path)) > 200
        assert ProbeClient(server.path).ping()["pid"] == os.getpid()
    finally:
        server.close()
    assert list(folder.iterdir()) == []
