# SPDX-License-Identifier: Apache-2.0
"""One request and its answer over HTTP."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager

import aiohttp
from yarl import URL

from vllm_soak.load.answer import Answer, BadAnswerError, read_whole
from vllm_soak.load.failure import classify, describe
from vllm_soak.load.offer import Offer
from vllm_soak.load.streamed import StreamedAnswer
from vllm_soak.workloads.mix import ENDPOINTS

CONNECT_SECONDS = 10.0
# Below the 5 s after which uvicorn closes an idle connection: a request sent into that closing would be lost.
KEEP_ALIVE_SECONDS = 2.0
# An abort comes between these shares of a typical answer's time: after the request was sent, before it is answered.
EARLIEST_ABORT, LATEST_ABORT = 0.05, 0.5
FIRST_TYPICAL_SECONDS = 0.02  # before anything was measured
TYPICAL_STEP = 1.05
READ_SIZE = 1 << 16


def open_session(timeout: float) -> aiohttp.ClientSession:
    """A client without limits of its own on connections, for one load; closing it closes all connections.

    Args:
        timeout: Seconds that one request may take.
    """
    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=KEEP_ALIVE_SECONDS),
        timeout=aiohttp.ClientTimeout(total=timeout, sock_connect=CONNECT_SECONDS),
        cookie_jar=aiohttp.DummyCookieJar(),
        headers={"Content-Type": "application/json"},
        read_bufsize=READ_SIZE,
        trust_env=False,
    )


class Exchange:
    """Sends requests to one server.

    Args:
        session: From `open_session`.
        url: Base address of the server.

    Attributes:
        last_byte: When the server was heard last, by `time.perf_counter`.
    """

    def __init__(self, session: aiohttp.ClientSession, url: str) -> None:
        self._session = session
        self._urls = {path: URL(url + path) for path in ENDPOINTS.values()}
        self.last_byte = time.perf_counter()
        self._typical: dict[int, float] = {}

    async def run(self, offer: Offer) -> Answer:
        """Send one request and wait for its end, which is never an exception (but for a cancellation)."""
        answer = Answer()
        started = time.perf_counter()
        try:
            if offer.fate == "abort":
                await self._abort(offer, answer, started)
            else:
                await self._send(offer, answer, started)
        except BadAnswerError as reason:
            answer.fail(reason.kind, str(reason))
        except (aiohttp.ClientError, OSError, TimeoutError, ValueError) as reason:
            answer.fail(classify(reason), describe(reason))
        answer.seconds = time.perf_counter() - started
        if offer.fate == "answer":
            self._learn(offer.part, answer.seconds)
        return answer

    def _learn(self, part: int, seconds: float) -> None:
        """Step towards the median of a part's times; kinds of requests differ by more than an order."""
        typical = self._typical.get(part, FIRST_TYPICAL_SECONDS)
        self._typical[part] = typical * TYPICAL_STEP if seconds > typical else typical / TYPICAL_STEP

    async def _abort(self, offer: Offer, answer: Answer, started: float) -> None:
        """Close the connection while the answer is awaited; one that is quicker is a good answer."""
        share = EARLIEST_ABORT + offer.detail * (LATEST_ABORT - EARLIEST_ABORT)
        limit = asyncio.timeout(share * self._typical.get(offer.part, FIRST_TYPICAL_SECONDS))
        try:
            async with limit:
                await self._send(offer, answer, started)
        except TimeoutError:
            if not limit.expired():
                raise
            answer.outcome = "aborted"

    def _post(self, offer: Offer) -> AbstractAsyncContextManager[aiohttp.ClientResponse]:
        # Without redirects: nothing is sent to an address that nobody gave.
        return self._session.post(self._urls[offer.path], data=offer.body, allow_redirects=False)

    async def _send(self, offer: Offer, answer: Answer, started: float) -> None:
        async with self._post(offer) as response:
            self.last_byte = time.perf_counter()
            if response.status != 200 or offer.fate == "invalid":
                await self._refused(offer, answer, response)
            elif offer.stream:
                await self._stream(offer, answer, response, started)
            else:
                raw = await response.read()
                self.last_byte = time.perf_counter()
                read_whole(answer, raw)

    async def _refused(self, offer: Offer, answer: Answer, response: aiohttp.ClientResponse) -> None:
        text = (await response.content.read(READ_SIZE)).decode(errors="replace")
        if offer.fate == "invalid" and 400 <= response.status < 500:
            answer.outcome = "rejected"
        elif response.status == 200:
            answer.fail("accepted-invalid", text)
        else:
            answer.fail(f"http-{response.status}", text)

    async def _stream(self, offer: Offer, answer: Answer, response: aiohttp.ClientResponse, started: float) -> None:
        leave = 1 + int(offer.detail * (offer.output_len - 1)) if offer.fate == "disconnect" else None
        keep = offer.conversation is not None
        reader = StreamedAnswer(answer, started, keep_reply=keep, leave_after=leave)
        await reader.read(self._chunks(response))
        if answer.outcome == "aborted":
            response.close()

    async def _chunks(self, response: aiohttp.ClientResponse) -> AsyncIterator[bytes]:
        async for chunk in response.content.iter_any():
            self.last_byte = time.perf_counter()
            yield chunk
