# SPDX-License-Identifier: Apache-2.0
"""A server's life from launch to end, with toy servers."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psutil
import pytest

from vllm_soak.engines.ending import EngineDiedError, EngineStalledError
from vllm_soak.engines.process_tree import living, with_variable
from vllm_soak.engines.serve.followed import Followed, find_members
from vllm_soak.engines.serve.server import ServerProcess, last_line
from vllm_soak.errors import EngineError

MakeServer = Callable[..., ServerProcess]


def up(server: ServerProcess) -> Followed:
    """Launch a server, wait for it, find its processes."""
    server.launch()
    server.wait_healthy(lambda _: None)
    return Followed(find_members(Path(server.environment["VLLM_SOAK_PROBE"]).glob("*.sock")))


def comes_true(condition: Callable[[], bool]) -> bool:
    """Whether a condition holds within two minutes."""
    until = time.monotonic() + 120
    while not (held := condition()) and time.monotonic() < until:
        time.sleep(0.05)
    return held


def all_gone(server: ServerProcess) -> bool:
    """Whether nothing of a server is left; what was killed may take a moment to go where the machine is busy."""
    folder = server.environment["VLLM_SOAK_PROBE"]
    return comes_true(lambda: with_variable("VLLM_SOAK_PROBE", folder) == [])


def test_processes_are_found_by_role(make_server: MakeServer) -> None:
    found = up(make_server())
    assert [one.role for one in found.members] == ["APIServer", "EngineCore"]
    assert len({one.process.pid for one in found.members}) == 2
    assert not found.look()


def test_it_says_what_it_serves(make_server: MakeServer) -> None:
    server = make_server()
    assert not server.health.is_up()
    assert server.health.model() == {}
    up(server)
    assert (server.health.version(), server.health.model()["id"], server.health.open_requests()) == ("1.2.3", "toy", 0)


def test_stopping_leaves_nothing(make_server: MakeServer) -> None:
    server = make_server("--away")
    up(server)
    away = psutil.Process(int(server.log.read_text().split()[1]))
    server.stop()
    assert all_gone(server)
    assert living([away]) == [], "in a session of its own"
    assert server.death() is None, "an end that was asked for"
    assert not server.work_folder.exists()


def test_a_server_that_ends_while_it_starts_is_explained(make_server: MakeServer) -> None:
    server = make_server("--say", "RuntimeError: No available memory for the cache blocks.", "--exit", "3")
    server.launch()
    with pytest.raises(EngineDiedError, match="exit code 3: no memory is left for the KV cache") as failure:
        server.wait_healthy(lambda _: None)
    assert failure.value.log_tail == ["RuntimeError: No available memory for the cache blocks."]


def test_a_start_tells_how_far_it_is_and_has_an_end(make_server: MakeServer, monkeypatch: Any) -> None:
    monkeypatch.setattr("vllm_soak.engines.serve.server.SAY_SECONDS", 0.2)
    server = make_server("--say", "Loading weights", "--start-after", "60", start_seconds=3.0)
    said: list[str] = []
    server.launch()
    assert comes_true(lambda: "Loading weights" in server.log.read_text())
    with pytest.raises(EngineStalledError, match=r"not healthy after \d+ s"):
        server.wait_healthy(said.append)
    assert said[-1].endswith("Loading weights")


def test_a_port_that_answers_already_is_refused(make_server: MakeServer) -> None:
    first, second = make_server(), make_server()
    up(first)
    second.health = first.health
    with pytest.raises(EngineError, match="another server answers at"):
        second.launch()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGABRT])
def test_a_killed_server_is_said_to_be_killed(make_server: MakeServer, number: signal.Signals) -> None:
    server = make_server()
    found = up(server)
    found.members[0].process.send_signal(number)
    died = server.death(120.0)
    assert died is not None
    assert number.name in str(died)
    assert all_gone(server), "its engine has nobody left to work for"


def test_who_was_gone_first_is_remembered(make_server: MakeServer) -> None:
    server = make_server()
    found = up(server)
    engine = found.members[1]
    engine.process.kill()
    assert comes_true(found.look)
    server.stop()
    assert found.look()
    assert found.ended == [("EngineCore", engine.process.pid)]


def test_a_stopped_process_is_told(make_server: MakeServer) -> None:
    found = up(make_server())
    found.members[1].process.suspend()
    assert comes_true(lambda: bool(found.stopped()))
    assert [one.role for one in found.stopped()] == ["EngineCore"]
    found.members[1].process.resume()


CONTROLLER = """
import json, sys, time
from pathlib import Path
from vllm_soak.engines.serve.health import Health
from vllm_soak.engines.serve.server import ServerProcess
given = json.loads(sys.argv[1])
server = ServerProcess(command=given["command"], log=Path(given["log"]), environment=given["environment"],
                       health=Health("127.0.0.1", given["port"]))
server.launch()
server.wait_healthy(lambda _: None)
print("up", flush=True)
time.sleep(600)
"""


def test_nothing_outlives_a_killed_controller(make_server: MakeServer) -> None:
    pattern = make_server("--away")
    given = {
        "command": pattern.command,
        "log": str(pattern.log),
        "environment": pattern.environment,
        "port": pattern.health.port,
    }
    controller = subprocess.Popen([sys.executable, "-c", CONTROLLER, json.dumps(given)], stdout=subprocess.PIPE)
    assert controller.stdout is not None
    assert controller.stdout.readline() == b"up\n"
    os.kill(controller.pid, signal.SIGKILL)
    controller.wait()
    controller.stdout.close()
    assert all_gone(pattern)


def test_what_a_killed_guardian_leaves_is_ended(make_server: MakeServer) -> None:
    server = make_server("--away")
    up(server)
    os.kill(server.guardian_pid, signal.SIGKILL)
    server.stop()
    assert all_gone(server)


def test_the_last_line_of_a_log_that_says_anything(tmp_path: Path) -> None:
    log = tmp_path / "log"
    assert "nothing yet" in last_line(log)
    log.write_text("one\ntwo  \n\n\n")
    assert last_line(log) == "two"


def test_a_start_that_is_stopped_ends_at_once(make_server: MakeServer) -> None:
    server = make_server("--start-after", "60")
    server.launch()
    threading.Timer(1.0, server.stop).start()
    with pytest.raises(EngineError, match="was stopped while it started"):
        server.wait_healthy(lambda _: None)


def test_two_threads_may_stop_it_at_once(make_server: MakeServer) -> None:
    server = make_server("--start-after", "60")
    server.launch()
    with ThreadPoolExecutor(4) as threads:
        for one in [threads.submit(server.stop) for _ in range(4)]:
            one.result()
    assert all_gone(server)
