# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from vllm_soak.engines.host import ORPHANED


async def like_vllm(call):
    """A server that knows its model and its tokenizer."""
    if call.path == "/v1/models":
        call.send(200, b'{"data": [{"id": "the-model"}]}')
    elif call.path == "/tokenize":
        call.send(200, json.dumps({"count": len(call.body["prompt"]) // 4}).encode())
    else:
        call.good()


def test_start_load_load_stop(load_process, serve) -> None:
    server = serve(like_vllm)
    mix = {"part": [{"input_len": 20}, {"name": "talk", "endpoint": "chat", "input_len": 50}]}
    ready = load_process.request(1, "start", url=server.url, mix=mix)["ready"]
    assert ready["pid"] == load_process.process.pid
    assert ready["client"].startswith("aiohttp 3")
    assert ready["model"] == "the-model"
    assert ready["chars_per_token"] == 4.0
    assert [part["name"] for part in ready["parts"]] == ["unique", "talk"]
    first = load_process.request(2, "load", requests=40)
    second = load_process.request(3, "load", requests=40, first=40)
    assert (first["id"], second["id"]) == (2, 3)
    assert first["loaded"]["completed"] == second["loaded"]["completed"] == 40
    assert not second["loaded"]["interrupted"]
    talks = [call.body["messages"][0]["content"] for call in server.calls if call.path == "/v1/chat/completions"]
    assert {len(text) for text in talks} == {200}, "50 tokens of 4 characters"
    assert load_process.request(4, "stop") == {"id": 4, "stopped": {}}
    assert load_process.process.wait(120) == 0
    assert all(event["id"] in (2, 3) for event in load_process.events)


def test_connections_are_closed_after_a_load(load_process, serve) -> None:
    """An idle server shall hold nothing for us while it is measured."""
    server = serve()
    load_process.request(1, "start", url=server.url, model="m")
    load_process.request(2, "load", requests=20, max_concurrency=5)
    load_process.request(3, "nothing")  # its event loop has gone on since
    process = psutil.Process(load_process.process.pid)
    assert [one for one in process.net_connections() if one.status == psutil.CONN_ESTABLISHED] == []


def test_stop_ends_a_load(load_process, serve) -> None:
    async def slow(call):
        await asyncio.sleep(0.1)
        call.good()

    load_process.request(1, "start", url=serve(slow).url, model="m")
    load_process.send(2, "load", seconds=3600, max_concurrency=3)
    while load_process.channel.receive().get("done", 0) < 3:
        pass
    load_process.send(3, "stop")
    loaded = load_process.answer()["loaded"]
    assert loaded["interrupted"]
    assert loaded["completed"] >= 3
    assert loaded["aborted"] == 3, "what was in flight"
    assert loaded["requests"] == loaded["completed"] + 3
    assert load_process.answer() == {"id": 3, "stopped": {}}
    assert load_process.process.wait(120) == 0


def test_a_dead_server_is_an_answer_and_not_the_end(load_process, serve) -> None:
    server = serve()
    load_process.request(1, "start", url=server.url, model="m", give_up=0.5)
    server.refuse()
    error = load_process.request(2, "load", seconds=600)["error"]
    assert "refused every connection" in error["cause"]
    assert "server's log" in error["remedy"]
    assert error["loaded"]["completed"] == 0
    assert error["loaded"]["errors"]["refused"] == error["loaded"]["failed"] > 0
    other = serve()
    load_process.request(3, "start", url=other.url, model="m")
    assert load_process.request(4, "load", requests=5)["loaded"]["completed"] == 5


@pytest.mark.parametrize(
    ("command", "arguments", "cause", "remedy"),
    [
        ("fly", {}, "unknown command 'fly'", "known are start, load and stop"),
        ("load", {"requests": 1}, "there is nobody to load yet", "send start first"),
        ("start", {"url": "http://127.0.0.1:1", "mix": {}}, "the mix has no part", "write one [[part]] table"),
        ("start", {"url": "http://127.0.0.1:1"}, "does not tell the name of its model", "check the address"),
    ],
)
def test_what_cannot_be_done_is_answered(load_process, command, arguments, cause, remedy) -> None:
    error = load_process.request(7, command, **arguments)["error"]
    assert cause in error["cause"]
    assert remedy in error["remedy"]
    assert "Traceback" in error["traceback"]
    assert load_process.request(8, "stop") == {"id": 8, "stopped": {}}


def test_a_server_without_a_tokenizer_gets_texts_that_are_never_too_long(load_process, serve) -> None:
    async def plain(call):
        if call.path == "/tokenize":
            call.send(404, b"{}")
        else:
            call.good()

    mix = {"part": [{"endpoint": "chat"}]}
    ready = load_process.request(1, "start", url=serve(plain).url, model="m", mix=mix)["ready"]
    assert ready["chars_per_token"] == 1.0


def test_it_ends_with_its_controller_amid_a_load(load_process, serve) -> None:
    load_process.request(1, "start", url=serve().url, model="m")
    load_process.send(2, "load", seconds=3600)
    time.sleep(0.3)
    load_process.channel.close()
    assert load_process.process.wait(120) == ORPHANED


CONTROLLER = """
import os, subprocess, sys
theirs_in, ours_out = os.pipe()
ours_in, theirs_out = os.pipe()
line = [sys.executable, "-m", "vllm_soak.load", "--control-in", str(theirs_in), "--control-out", str(theirs_out)]
print(subprocess.Popen(line, pass_fds=(theirs_in, theirs_out)).pid, flush=True)
sys.stdin.read()
os._exit(1)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel's help is Linux's")
def test_a_stopped_load_process_ends_with_its_controller() -> None:
    controller = subprocess.Popen([sys.executable, "-c", CONTROLLER], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert controller.stdout is not None
    client = psutil.Process(int(controller.stdout.readline()))
    while not has_event_loop(client):  # which starts after the kernel was asked
        time.sleep(0.05)
    os.kill(client.pid, signal.SIGSTOP)
    controller.kill()
    controller.communicate()
    try:
        assert psutil.wait_procs([client], timeout=120)[1] == []
    finally:
        with suppress(psutil.NoSuchProcess):
            client.kill()


def has_event_loop(process: psutil.Process) -> bool:
    """Whether one of a process's files is what an event loop waits with."""
    found = []
    for file in Path(f"/proc/{process.pid}/fd").iterdir():
        with suppress(FileNotFoundError):
            found.append(str(file.readlink()))
    return "anon_inode:[eventpoll]" in found
