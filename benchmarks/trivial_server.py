# SPDX-License-Identifier: Apache-2.0
"""An HTTP server that answers completions at once, so that a load client and not the server is measured.

    python benchmarks/trivial_server.py [--core N] [--tokens-per-second N]

Prints its port, and ends when its standard input does. It speaks as much HTTP/1.1 as `vllm_soak.load` sends: bodies
with a length, connections kept alive. Every answer carries the usage that was asked for; streams are chunked.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
from typing import Any

HEAD_END = b"\r\n\r\n"
LENGTH = b"content-length:"
JSON_HEAD = b"HTTP/1.1 %d %s\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n"
STREAM_HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
REPLY = {"role": "assistant", "content": "a"}
# Of both endpoints at once: a client reads what it knows.
ONE_CHOICE = {"index": 0, "text": "a", "message": REPLY, "logprobs": None, "finish_reason": "length"}
TOKEN = b'{"id":"c","choices":[{"index":0,"text":"a","delta":{"content":"a"}}]}'


def whole_answer(request: dict[str, Any]) -> bytes:
    """An answer in one piece."""
    body = json.dumps(
        {"id": "c", "object": "text_completion", "choices": [ONE_CHOICE], "usage": usage(request)}
    ).encode()
    return JSON_HEAD % (200, b"OK", len(body)) + body


def usage(request: dict[str, Any]) -> dict[str, int]:
    """Tokens as a server counts them."""
    return {"prompt_tokens": len(request.get("prompt", "")) or 1, "completion_tokens": request["max_tokens"]}


def refusal() -> bytes:
    """A 400."""
    body = b'{"error":{"message":"refused","type":"BadRequestError","code":400}}'
    return JSON_HEAD % (400, b"Bad Request", len(body)) + body


def chunk(data: bytes) -> bytes:
    """One event in one chunk."""
    event = b"data: " + data + b"\n\n"
    return b"%x\r\n%b\r\n" % (len(event), event)


def invalid(request: dict[str, Any]) -> bool:
    """Whether a server has to refuse a request."""
    length = request.get("max_tokens")
    prompted = "prompt" in request or "messages" in request
    return not isinstance(length, int) or length < 0 or request.get("temperature", 0) < 0 or not prompted


class Connection(asyncio.Protocol):
    """One connection: answers each request when its body is complete.

    Args:
        pace: Seconds between two tokens of a stream; 0 sends them at once.
    """

    def __init__(self, pace: float) -> None:
        self._pace = pace
        self._rest = b""
        self._transport: asyncio.Transport | None = None
        self._streams: set[asyncio.Task[None]] = set()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio's signature
        """End streams whose reader is gone."""
        for one in self._streams:
            one.cancel()

    def data_received(self, data: bytes) -> None:
        """Answer every request that is whole."""
        self._rest += data
        while (end := self._request_end()) is not None:
            head = self._rest.index(HEAD_END) + len(HEAD_END)
            body, self._rest = self._rest[head:end], self._rest[end:]
            self._answer(json.loads(body))

    def _request_end(self) -> int | None:
        head = self._rest.find(HEAD_END)
        if head < 0:
            return None
        at = self._rest[:head].lower().find(LENGTH)
        length = int(self._rest[at + len(LENGTH) : head].split(b"\r\n", 1)[0]) if at >= 0 else 0
        end = head + len(HEAD_END) + length
        return end if len(self._rest) >= end else None

    def _answer(self, request: dict[str, Any]) -> None:
        assert self._transport is not None
        if invalid(request):
            self._transport.write(refusal())
        elif not request.get("stream"):
            self._transport.write(whole_answer(request))
        else:
            task = asyncio.ensure_future(self._stream(self._transport, request))
            self._streams.add(task)
            task.add_done_callback(self._streams.discard)

    async def _stream(self, transport: asyncio.Transport, request: dict[str, Any]) -> None:
        token = chunk(TOKEN)
        transport.write(STREAM_HEAD)
        for _ in range(request["max_tokens"]):
            transport.write(token)
            await asyncio.sleep(self._pace)
        last = json.dumps({"id": "c", "choices": [], "usage": usage(request)}).encode()
        transport.write(chunk(last) + chunk(b"[DONE]") + b"0\r\n\r\n")


async def serve(pace: float) -> None:
    """Serve on a free loopback port until standard input ends."""
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Connection(pace), "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    ended = asyncio.Event()
    loop.add_reader(sys.stdin.fileno(), ended.set)
    await ended.wait()


def main() -> None:
    """Run the server."""
    parser = argparse.ArgumentParser(prog="trivial_server.py", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--core", type=int, help="core to run on")
    parser.add_argument("--tokens-per-second", type=float, default=float("inf"), help="pace of each stream")
    given = parser.parse_args()
    if given.core is not None:
        os.sched_setaffinity(0, {given.core})
    asyncio.run(serve(1.0 / given.tokens_per_second))


if __name__ == "__main__":
    main()
