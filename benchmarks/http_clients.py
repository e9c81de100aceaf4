# SPDX-License-Identifier: Apache-2.0
"""Which HTTP client offers more on one core: aiohttp or httpx, bare, in the same loop.

python -m pip install httpx
python benchmarks/http_clients.py --requests 8000
"""

from __future__ import annotations

import argparse
import asyncio
import importlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import aiohttp

WORKERS = 64
BODY = {"model": "m", "prompt": list(range(220)), "max_tokens": 1, "temperature": 0.0}
HEADERS = {"Content-Type": "application/json"}
Post = Callable[[bytes], Awaitable[bytes]]


async def offer(post: Post, requests: int) -> float:
    """Send all requests from 64 workers; requests a second."""
    left = iter(range(requests))

    async def work() -> None:
        for _ in left:
            body = json.dumps(BODY, separators=(",", ":")).encode()
            assert json.loads(await post(body))["usage"]

    began = time.perf_counter()
    await asyncio.gather(*(work() for _ in range(WORKERS)))
    return requests / (time.perf_counter() - began)


async def with_aiohttp(url: str, requests: int) -> float:
    """As `vllm_soak.load` opens it."""
    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(
        connector=connector, cookie_jar=aiohttp.DummyCookieJar(), headers=HEADERS
    ) as session:

        async def post(body: bytes) -> bytes:
            async with session.post(url, data=body) as response:
                return await response.read()

        return await offer(post, requests)


async def with_httpx(url: str, requests: int) -> float:
    """Without limits and time-outs."""
    httpx: Any = importlib.import_module("httpx")
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=None)
    async with httpx.AsyncClient(limits=limits, timeout=None, headers=HEADERS) as session:

        async def post(body: bytes) -> bytes:
            return bytes((await session.post(url, content=body)).content)

        return await offer(post, requests)


def main() -> None:
    """Measure each three times in turn."""
    parser = argparse.ArgumentParser(prog="http_clients.py", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--requests", type=int, default=8000)
    given = parser.parse_args()
    server = [sys.executable, str(Path(__file__).with_name("trivial_server.py")), "--core", "1"]
    with subprocess.Popen(server, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        url = f"http://127.0.0.1:{int(process.stdout.readline())}/v1/completions"
        os.sched_setaffinity(0, {0})
        for _ in range(3):
            for client in (with_aiohttp, with_httpx):
                print(f"{client.__name__}: {asyncio.run(client(url, given.requests)):,.0f} requests/s", flush=True)
        process.communicate()


if __name__ == "__main__":
    main()
