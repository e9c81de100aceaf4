# SPDX-License-Identifier: Apache-2.0
"""Small HTTP servers that behave badly, and the load process on a channel."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Callable, Coroutine, Iterator
from typing import Any

import pytest

from vllm_soak.engines.channel import Channel
from vllm_soak.load.load import Load
from vllm_soak.load.offer import Source
from vllm_soak.load.order import LoadOrder, StartOrder

HEAD = b"HTTP/1.1 %d Status\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n"
STREAM = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"


class Call:
    """One request at the server, and ways to answer it."""

    def __init__(self, number: int, path: str, body: dict[str, Any], writer: asyncio.StreamWriter) -> None:
        self.number = number
        self.path = path
        self.body = body
        self.writer = writer

    def send(self, status: int, body: bytes) -> None:
        """A whole answer."""
        self.writer.write(HEAD % (status, len(body)) + body)

    def good(self, text: str = "a") -> None:
        """A good answer in one piece."""
        usage = {"prompt_tokens": 7, "completion_tokens": self.body.get("max_tokens", 1)}
        choice = {"index": 0, "text": text, "message": {"role": "assistant", "content": text}}
        self.send(200, json.dumps({"choices": [choice], "usage": usage}).encode())

    def head(self) -> None:
        """Begin a stream."""
        self.writer.write(STREAM)

    async def event(self, data: bytes) -> None:
        """One event, in a chunk of its own."""
        line = b"data: " + data + b"\n\n"
        self.writer.write(b"%x\r\n%b\r\n" % (len(line), line))
        await self.writer.drain()

    async def token(self, text: str = "a") -> None:
        """One token of a stream."""
        choice = {"index": 0, "text": text, "delta": {"content": text}}
        await self.event(json.dumps({"choices": [choice]}).encode())

    async def end(self, tokens: int) -> None:
        """Usage, the end of the stream, and the end of the answer."""
        usage = {"prompt_tokens": 7, "completion_tokens": tokens}
        await self.event(json.dumps({"choices": [], "usage": usage}).encode())
        await self.event(b"[DONE]")
        self.writer.write(b"0\r\n\r\n")

    def reset(self) -> None:
        """Reset the connection."""
        sock = self.writer.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.writer.transport.abort()


Behaviour = Callable[[Call], Coroutine[Any, Any, None]]


class Server:
    """A server in a thread of its own, on a free loopback port; every call is kept."""

    def __init__(self, behaviour: Behaviour) -> None:
        self.behaviour = behaviour
        self.calls: list[Call] = []
        self.dropped = 0
        self.in_flight = self.deepest = 0
        self._loop = asyncio.new_event_loop()
        self._server = self._loop.run_until_complete(asyncio.start_server(self._serve, "127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        self._thread = threading.Thread(target=self._loop.run_forever)
        self._thread.start()

    def close(self) -> None:
        """Close port and connections."""
        asyncio.run_coroutine_threadsafe(self._close(), self._loop).result(120)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(120)
        self._loop.close()

    def refuse(self) -> None:
        """Close the port and every connection, as a server that died."""
        asyncio.run_coroutine_threadsafe(self._close(), self._loop).result(120)

    async def _close(self) -> None:
        self._server.close()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for one in others:
            one.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                lines = head.decode().lower().split("\r\n")
                length = next((int(line.split(":")[1]) for line in lines if line.startswith("content-length:")), 0)
                raw = await reader.readexactly(length)
                call = Call(len(self.calls), lines[0].split()[1], json.loads(raw or b"{}"), writer)
                self.calls.append(call)
                await self._answer(call)
        except (asyncio.IncompleteReadError, ConnectionError):
            self.dropped += 1
        except asyncio.CancelledError:
            pass  # the server closes
        finally:
            writer.transport.abort()

    async def _answer(self, call: Call) -> None:
        self.in_flight += 1
        self.deepest = max(self.deepest, self.in_flight)
        try:
            await self.behaviour(call)
        finally:
            self.in_flight -= 1


async def good(call: Call) -> None:
    """Answer well, streamed or not."""
    if not call.body.get("stream"):
        call.good()
        return
    call.head()
    for _ in range(call.body["max_tokens"]):
        await call.token()
    await call.end(call.body["max_tokens"])


@pytest.fixture
def serve() -> Iterator[Callable[..., Server]]:
    """Starts servers of a behaviour (good by default) and closes them."""
    made: list[Server] = []

    def start(behaviour: Behaviour = good) -> Server:
        made.append(Server(behaviour))
        return made[-1]

    yield start
    for one in made:
        one.close()


class Ran:
    """What a load answered and emitted."""

    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []
        self.loaded: dict[str, Any] = {}


@pytest.fixture
def run_load() -> Callable[..., Ran]:
    """Runs one load in this process: `run_load(url, {part}, requests=..., start={...})`."""

    def run(url: str, *parts: dict[str, Any], start: dict[str, Any] | None = None, **order: Any) -> Ran:
        given = {"url": url, "model": "m", "mix": {"part": list(parts) or [{}]}, **(start or {})}
        beginning = StartOrder.read(given)
        ran = Ran()

        async def go() -> None:
            source = Source(beginning, "m", 1.0)
            ran.loaded = await Load(beginning, source, LoadOrder.read(order), ran.events.append).run()

        asyncio.run(go())
        return ran

    return run


class LoadProcess:
    """The load process, as a controller has it."""

    def __init__(self) -> None:
        ours_in, theirs_out = os.pipe()
        theirs_in, ours_out = os.pipe()
        line = [sys.executable, "-m", "vllm_soak.load", "--control-in", str(theirs_in)]
        line += ["--control-out", str(theirs_out)]
        self.process = subprocess.Popen(line, pass_fds=(theirs_in, theirs_out))
        os.close(theirs_in)
        os.close(theirs_out)
        self.channel = Channel(ours_in, ours_out)
        self.events: list[dict[str, Any]] = []

    def send(self, number: int, command: str, **arguments: Any) -> None:
        """Send without waiting."""
        self.channel.send({"id": number, "command": command, **arguments})

    def answer(self) -> dict[str, Any]:
        """The next answer; events before it are kept."""
        while "event" in (message := self.channel.receive()):
            self.events.append(message)
        return message

    def request(self, number: int, command: str, **arguments: Any) -> dict[str, Any]:
        """Send and wait."""
        self.send(number, command, **arguments)
        return self.answer()

    def close(self) -> None:
        """End it, whatever it does."""
        self.process.kill()
        self.process.wait(120)
        self.channel.close()


@pytest.fixture
def load_process() -> Iterator[LoadProcess]:
    """A load process of its own."""
    one = LoadProcess()
    yield one
    one.close()


@pytest.fixture
def outcomes() -> Callable[[dict[str, Any]], dict[str, int]]:
    """Requests of a load by how they ended, without those that there are none of."""
    names = ("completed", "failed", "aborted", "rejected")
    return lambda loaded: {name: loaded[name] for name in names if loaded[name]}
