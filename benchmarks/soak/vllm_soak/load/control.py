# SPDX-License-Identifier: Apache-2.0
"""The load process's side of the control channel, within an event loop."""

from __future__ import annotations

import asyncio
import os
import traceback
from typing import Any

from vllm_soak.engines.channel import Channel, Closed
from vllm_soak.engines.host import ORPHANED
from vllm_soak.errors import SoakError
from vllm_soak.load.failure import DeadServerError
from vllm_soak.load.load import Load
from vllm_soak.load.offer import Source
from vllm_soak.load.order import LoadOrder, StartOrder
from vllm_soak.load.server_facts import ServerFacts, ask_server

Message = dict[str, Any]


class Inbox:
    """Commands as they arrive; the process ends at once when the controller does.

    Args:
        channel: Of which it reads.
    """

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._queue: asyncio.Queue[Message] = asyncio.Queue()
        self._held: list[Message] = []
        asyncio.get_running_loop().add_reader(channel.read_fd, self._read)

    async def next(self) -> Message:
        """Wait for a command."""
        return self._held.pop() if self._held else await self._queue.get()

    async def stop_asked(self) -> None:
        """Wait until the next command is `stop`; it remains the next."""
        while True:
            message = await self._queue.get()
            self._held.insert(0, message)
            if message.get("command") == "stop":
                return

    def _read(self) -> None:
        try:
            self._channel.fill()
            while self._channel.pending:
                self._queue.put_nowait(self._channel.receive())
        except Closed:
            os._exit(ORPHANED)


class Service:
    """Answers commands until `stop`.

    Args:
        channel: To the controller.
    """

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._inbox = Inbox(channel)
        self._start: StartOrder | None = None
        self._source: Source | None = None

    async def run(self) -> None:
        """Answer every command, failures included."""
        while True:
            command = await self._inbox.next()
            try:
                self._channel.send(await self._message(command))
            except Closed:
                os._exit(ORPHANED)
            if command.get("command") == "stop":
                return

    async def _message(self, command: Message) -> Message:
        try:
            return {"id": command["id"], **await self._answer(command)}
        except Closed:
            raise
        except Exception as reason:  # noqa: BLE001 - reported to the controller, which decides
            return failure(command, reason)

    async def _answer(self, command: Message) -> Message:
        name = command.get("command")
        if name == "start":
            return {"ready": await self._begin(StartOrder.read(command))}
        if name == "load":
            return {"loaded": await self._load(command)}
        if name == "stop":
            return {"stopped": {}}
        raise ValueError(f"unknown command {name!r}: known are start, load and stop")

    async def _begin(self, order: StartOrder) -> Message:
        facts: ServerFacts = await ask_server(order)
        self._start, self._source = order, Source(order, facts.model, facts.chars_per_token)
        return {**facts.as_json(), "parts": order.mix.as_json()}

    async def _load(self, command: Message) -> Message:
        if self._start is None or self._source is None:
            raise ValueError("there is nobody to load yet: send start first")

        def emit(event: Message) -> None:
            self._channel.send({**event, "id": command["id"]})

        load = Load(self._start, self._source, LoadOrder.read(command), emit)
        stop = asyncio.create_task(self._inbox.stop_asked())
        stop.add_done_callback(lambda task: None if task.cancelled() else load.interrupt())
        try:
            return await load.run()
        finally:
            stop.cancel()


def failure(command: Message, reason: Exception) -> Message:
    """The answer to a command that failed."""
    cause, remedy = explain(reason)
    error: Message = {"cause": cause, "remedy": remedy, "traceback": "".join(traceback.format_exception(reason))}
    if isinstance(reason, DeadServerError):
        error["loaded"] = reason.loaded
    return {"id": command.get("id"), "error": error}


def explain(reason: Exception) -> tuple[str, str]:
    """Cause and remedy; those of a `ValueError` of the workloads stand on either side of its last colon."""
    if isinstance(reason, SoakError):
        return reason.cause, reason.remedy
    cause, colon, remedy = str(reason).rpartition(": ")
    if isinstance(reason, ValueError) and colon:
        return cause, remedy
    told = f"{type(reason).__name__}: {reason}"
    return f"the load process failed with {told}", "report it with the traceback that --debug shows"
