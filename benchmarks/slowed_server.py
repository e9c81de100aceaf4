# SPDX-License-Identifier: Apache-2.0
"""Servers for `live_steps.py`, and what slows them: one process held by SIGSTOP for a share of the time."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from vllm_soak.engines.attached import attach_to
from vllm_soak.observe.role import role_of
from vllm_soak.observe.tree import ProcessTree

# One request at a time, in slices of two milliseconds: time in which the process is held does not count as work.
TOY = """
import json, threading, time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from vllm_soak.probe import arm
arm()
one = threading.Lock()
BODY = json.dumps({"id": "c", "object": "text_completion", "usage": {"prompt_tokens": 1, "completion_tokens": 1},
                   "choices": [{"index": 0, "text": "a", "finish_reason": "length"}]}).encode()
def work():
    with one:
        for _ in range(15):
            time.sleep(0.002)
class Server(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        work()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(BODY)))
        self.end_headers()
        self.wfile.write(BODY)
    def log_message(self, *_): pass
server = ThreadingHTTPServer(("127.0.0.1", 0), Server)
print(server.server_port, flush=True)
server.serve_forever()
"""


@dataclass(frozen=True)
class Slowed:
    """A server, and the process in it that is held.

    Args:
        url: Its address.
        root: Pid of the root of its tree.
        held: Pid of the process to hold.
        probe: Answers the socket of a pid's probe.
        own: The toy, which ends with `close`; None for a server that somebody else started.
    """

    url: str
    root: int
    held: int
    probe: Callable[[int], Path | None]
    own: subprocess.Popen[str] | None = None

    def close(self) -> None:
        """End the toy."""
        if self.own is not None:
            self.own.kill()
            self.own.communicate()


def start_toy(sockets: Path) -> Slowed:
    """Start a small HTTP server with a probe."""
    variables = {**os.environ, "VLLM_SOAK_PROBE": str(sockets)}
    process = subprocess.Popen(
        [sys.executable, "-c", TOY], env=variables, stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    assert process.stdout is not None
    url = f"http://127.0.0.1:{int(process.stdout.readline())}"
    return Slowed(url, process.pid, process.pid, lambda pid: sockets / f"{pid}.sock", process)


def real_server(url: str, role: str) -> Slowed:
    """Find a server that runs already, and the process in it of a role."""
    server = attach_to(url, None)
    held = [pid for pid in ProcessTree(server.pid).look() if role_of(pid) == role]
    if not held:
        sys.exit(f"the server at {url} has no process of the role {role}; name another one by --hold")
    return Slowed(url, server.pid, held[0], server.socket)


def hold_back(pid: int, held: float, free: float, over: threading.Event) -> None:
    """Hold a process for some milliseconds of each period until it is over; it always ends running."""
    with suppress(ProcessLookupError):
        while not over.is_set():
            os.kill(pid, signal.SIGSTOP)
            try:
                time.sleep(held)
            finally:
                os.kill(pid, signal.SIGCONT)
            over.wait(free)
