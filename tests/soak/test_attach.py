# SPDX-License-Identifier: Apache-2.0
"""`vllm-soak attach` against toy servers that are loaded by somebody else."""

from __future__ import annotations

import http.client
import io
import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import pytest
from rich.console import Console

from vllm_soak.engines.attached import attach_to, engine_name, health_of, is_here, listener
from vllm_soak.engines.serve.health import Health
from vllm_soak.engines.serve.port import LOOPBACK, free_port
from vllm_soak.errors import EngineError, UsageError
from vllm_soak.report.live import LiveView
from vllm_soak.store.reader import read_run
from vllm_soak.store.record import Arm
from vllm_soak.store.writer import RunStore
from vllm_soak.watcher import Watcher
from vllm_soak.windows import Windows

TOY = Path(__file__).parent / "engines" / "serve" / "toy_server.py"
FAST = ("--interval", "2")
# Seconds of a window: on a machine that is busy a walk is longer than short ones, and what they tell uneven.
INTERVALS = ("2", "10", "30")


class Loaded:
    """A toy server and a thread that asks it for one answer after the other."""

    def __init__(self, probe: str, *arguments: str) -> None:
        environment = {**os.environ, "VLLM_SOAK_PROBE": probe}
        for _ in range(5):  # another program may take the port first
            self.port = free_port()
            self.process = subprocess.Popen([sys.executable, str(TOY), str(self.port), *arguments], env=environment)
            if self._is_up():
                break
        else:
            pytest.fail("the toy server did not start")
        self.url = f"http://{LOOPBACK}:{self.port}"
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._ask)
        self._thread.start()

    def _is_up(self) -> bool:
        health = Health(LOOPBACK, self.port)
        while self.process.poll() is None:
            if health.is_up():
                return True
            time.sleep(0.05)
        return False

    def _ask(self) -> None:
        connection = http.client.HTTPConnection(LOOPBACK, self.port)
        body = json.dumps({"prompt": [1] * 220, "max_tokens": 1})
        try:
            while not self._over.is_set():
                connection.request("POST", "/v1/completions", body, {"Content-Type": "application/json"})
                connection.getresponse().read()
                self._over.wait(0.003)
        except (OSError, http.client.HTTPException):
            pass  # the server was ended by the test
        finally:
            connection.close()

    def close(self) -> None:
        self._over.set()
        self._thread.join()
        for child in psutil.Process(self.process.pid).children(recursive=True) if self.process.poll() is None else []:
            with suppress(psutil.NoSuchProcess):
                child.kill()
        self.process.kill()
        self.process.wait()


@pytest.fixture
def loaded(tmp_path: Path) -> Iterator[Any]:
    made: list[Loaded] = []

    def make(*arguments: str, armed: bool = True) -> Loaded:
        folder = tmp_path / "sockets"
        folder.mkdir(mode=0o700, exist_ok=True)
        made.append(Loaded(str(folder) if armed else "0", *arguments))
        return made[-1]

    yield make
    for one in made:
        one.close()


def test_a_leak_is_named_where_the_probe_is_armed(loaded: Any, command: Any, read_report: Any, tmp_path: Path) -> None:
    url = loaded("--leak").url
    for interval in INTERVALS:
        run = tmp_path / interval
        done = command("attach", "--url", url, "--interval", interval, "--run-dir", run)
        if done.returncode != 2:
            break
    assert done.returncode == 1, done.stdout + done.stderr
    processes = read_report(run)["arms"][0]["processes"]
    leaks = [one for process in processes for one in process["suspects"] if one["outcome"] == "leak"]
    assert [one["path"] for one in leaks] == ["engine_core.ids"]
    assert leaks[0]["per_request"] == pytest.approx(13.0, rel=0.05), "220 // 16; requests end while a walk is made"
    assert_walks_are_counted(read_run(run).arms[0], float(interval))


def assert_walks_are_counted(arm: Arm, interval: float) -> None:
    """The requests of a window are those since the window before, and so is its time: walks are in both."""
    walks = sum(one.seconds for one in arm.censuses if one.round < arm.rounds[-1].index)
    windows = arm.rounds[1:]
    assert walks > 0
    assert sum(one.seconds for one in windows) >= walks + len(windows) * interval


def test_without_the_probe_bytes_are_judged(loaded: Any, command: Any, tmp_path: Path) -> None:
    server = loaded(armed=False)
    done = command(
        "attach", "--url", server.url, "--rounds", "3", "--max-rounds", "3", *FAST, "--run-dir", tmp_path / "r"
    )
    assert "no probe is armed" in done.stdout
    run = read_run(tmp_path / "r")
    assert run.status == "finished"
    assert run.arms[0].censuses == []
    assert [one.requests > 0 for one in run.arms[0].rounds[1:]] == [True] * 5
    assert all(one.values["in_use"] > 1 << 20 for one in run.arms[0].samples)
    assert server.process.poll() is None, "it was not touched"


def test_a_server_that_ends_is_said_so(loaded: Any, start: Any, tmp_path: Path) -> None:
    server = loaded()
    many = ("--rounds", "100", "--max-rounds", "100")  # it ends before they do
    run = start("attach", "--url", server.url, *many, *FAST, "--run-dir", tmp_path / "run")
    run.wait_for("window 2")
    server.process.kill()
    assert run.end() == 3, run.output
    assert f"process {server.process.pid} ended" in run.output
    assert read_run(tmp_path / "run").status == "failed"


class EndsBeforeItIsAsked(Watcher):
    """Watches a server that is killed just before its processes are asked, at once or at the end of a window."""

    moments = 1

    def _processes(self) -> dict[str, int]:
        found = super()._processes()
        self.moments -= 1
        if self.moments == 0:
            psutil.Process(self.server.pid).kill()
        return found


@pytest.mark.parametrize("moments", [1, 2])
def test_a_server_that_ends_when_it_is_asked_is_said_so(loaded: Any, tmp_path: Path, moments: int) -> None:
    server = loaded()
    with RunStore.create(tmp_path / "run", {}) as store:
        view = LiveView(Console(file=io.StringIO()))
        attached, windows = attach_to(server.url, None), Windows(server.url)
        watcher = EndsBeforeItIsAsked(attached, windows, store, store.file.parent, view)
        watcher.moments = moments
        with pytest.raises(EngineError, match=f"the server's process {server.process.pid} ended"):
            watcher.run()
        watcher.observation.stop()
        watcher._metrics.close()


@pytest.mark.parametrize(
    ("url", "words"),
    [
        (f"http://{LOOPBACK}:1", "no server answers at http://127.0.0.1:1"),
        ("https://example.org", "is not an address"),
        ("http://", "is not an address"),
        ("http://[", "is not an address"),
        ("http://a..b", "is not an address"),
    ],
)
def test_what_is_no_server_is_refused(url: str, words: str) -> None:
    with pytest.raises(UsageError, match="address") as refused:
        attach_to(url, None)
    assert words in str(refused.value)


def test_a_pid_that_is_not_there_is_refused(loaded: Any) -> None:
    with pytest.raises(UsageError, match="there is no process 4194999"):
        attach_to(loaded().url, 4194999)


@pytest.mark.parametrize(
    ("host", "here"), [(LOOPBACK, True), ("127.1.2.3", True), ("::1", True), ("0.0.0.0", True), ("192.0.2.1", False)]
)
def test_addresses_of_this_machine_are_told_from_others(host: str, here: bool) -> None:
    assert is_here(host) is here


def test_who_listens_here_is_not_taken_for_a_server_elsewhere(loaded: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    server = loaded()
    assert attach_to(server.url, None).pid == server.process.pid
    monkeypatch.setattr("vllm_soak.engines.attached.is_here", lambda _: False)
    with pytest.raises(UsageError, match="no process of this machine can be seen to listen"):
        attach_to(server.url, None)


@pytest.mark.parametrize(
    ("owner", "name"), [("rapid-mlx", "rapid-mlx"), ("vllm", "vllm"), ("me", "vllm"), ([], "vllm")]
)
def test_an_engine_is_named_by_whom_it_says_that_it_is(owner: Any, name: str) -> None:
    assert engine_name({"owned_by": owner}) == name
    assert engine_name({}) == "vllm"


def test_the_listener_of_a_port_is_found(loaded: Any) -> None:
    server = loaded()
    assert listener(server.port) == server.process.pid
    with socket.socket() as nobody:  # has the port, and does not listen
        nobody.bind((LOOPBACK, 0))
        assert listener(nobody.getsockname()[1]) is None


@pytest.mark.parametrize(
    ("url", "expected"), [("localhost:8000", "http://localhost:8000"), ("http://[::1]:80", "http://[::1]:80")]
)
def test_addresses_are_read(url: str, expected: str) -> None:
    assert health_of(url).url == expected
