# SPDX-License-Identifier: Apache-2.0
"""A server of the shape of vLLM's: an API process, an engine process below it, both with the probe; no model.

python toy_server.py PORT [--leak] [--stubborn] [--away] [--deaf-after REQUESTS] [--start-after SECONDS]
                     [--say TEXT] [--exit CODE]
"""

from __future__ import annotations

import argparse
import contextlib
import json
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from multiprocessing.connection import Connection
from typing import ClassVar

from vllm_soak.probe import arm

METRICS = """\
# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{{engine="0"}} 0.0
# TYPE vllm:num_requests_waiting gauge
vllm:num_requests_waiting{{engine="0"}} 0.0
# TYPE vllm:request_success counter
vllm:request_success_total{{engine="0",finished_reason="length"}} {done}
"""


class Core:
    """What a scheduler keeps of its requests."""

    def __init__(self, leak: bool) -> None:
        self.leak = leak
        self.ids: list[int] = []
        self.steps = 0

    def step(self, tokens: int) -> None:
        self.steps += 1
        if self.leak:
            self.ids.extend(range(self.steps, self.steps + tokens // 16))


def engine(pipe: Connection, leak: bool) -> None:
    """The engine process: one answer a request, until the API process is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    arm()
    engine_core = Core(leak)
    pipe.send(os.getpid())
    with contextlib.suppress(EOFError, OSError):
        while True:
            engine_core.step(pipe.recv())
            pipe.send("text")


class Handler(BaseHTTPRequestHandler):
    """The endpoints that a soak uses."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    pipe: Connection
    turn = threading.Lock()
    done: ClassVar[list[int]] = [0]
    deaf_after = sys.maxsize

    def do_GET(self) -> None:
        answers = {
            "/health": b"",
            "/version": b'{"version": "1.2.3"}',
            "/v1/models": b'{"data": [{"id": "toy", "root": "toy-folder", "max_model_len": 2048}]}',
            "/metrics": METRICS.format(done=self.done[0]).encode(),
        }
        self.answer(200 if self.path in answers else 404, answers.get(self.path, b"{}"))

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        prompt = body.get("prompt") or body.get("messages")
        if self.done[0] >= self.deaf_after:
            self.server.socket.close()  # the port is closed, the process lives on
            self.close_connection = True
            return
        with self.turn:
            try:
                self.pipe.send(len(prompt))
                text = self.pipe.recv()
            except (EOFError, OSError):
                self.answer(500, b'{"error": {"message": "EngineCore encountered an issue"}}')
                return
        self.done[0] += 1
        usage = {"prompt_tokens": len(prompt), "completion_tokens": 1, "total_tokens": len(prompt) + 1}
        choice = {"index": 0, "text": text, "message": {"content": text}, "finish_reason": "length"}
        self.answer(200, json.dumps({"choices": [choice], "usage": usage}).encode())

    def answer(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Nothing is logged."""


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("port", type=int)
    for name in ("--leak", "--stubborn", "--away"):
        parser.add_argument(name, action="store_true")
    parser.add_argument("--deaf-after", type=int, default=sys.maxsize)
    parser.add_argument("--start-after", type=float, default=0.0)
    parser.add_argument("--say", default="")
    parser.add_argument("--exit", type=int, default=None)
    given = parser.parse_args()
    if given.say:
        print(given.say, flush=True)
    if given.exit is not None:
        sys.exit(given.exit)
    if given.stubborn:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if given.away:
        stray = [sys.executable, "-c", "import time; time.sleep(600)"]
        print("away", subprocess.Popen(stray, start_new_session=True).pid, flush=True)
    arm()
    ours, theirs = multiprocessing.get_context("spawn").Pipe()
    child = multiprocessing.get_context("spawn").Process(
        target=engine, args=(theirs, given.leak), name="EngineCore", daemon=True
    )
    child.start()
    theirs.close()
    ours.recv()
    Handler.pipe, Handler.deaf_after = ours, given.deaf_after
    time.sleep(given.start_after)
    server = Server(("127.0.0.1", given.port), Handler)
    try:
        server.serve_forever()
    except (OSError, ValueError):
        threading.Event().wait()  # it was made deaf


if __name__ == "__main__":
    main()
