# SPDX-License-Identifier: Apache-2.0
"""A real service in a process of its own, and a client that keeps to a schedule."""

from __future__ import annotations

import contextlib
import http.client
import os
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import vllm_soak

PACKAGE = Path(vllm_soak.__file__).parents[1]
SERVICE = """
import http.server
import sys


class App:
    def __init__(self):
        self.sessions = {}
        self.last = {}


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        if self.path == "/leaky":
            app.sessions[len(app.sessions)] = self.path
        app.last[self.path] = self.client_address
        self.send_response(200)
        self.end_headers()

    def log_message(self, *arguments):
        pass


app = App()
server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
print(server.server_port, *sys.argv[1:], flush=True)
server.serve_forever()
"""


class Service:
    """The service, and the load on it."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        self.process = process
        self.pid = process.pid
        self.said = process.stdout.readline().split()
        self._over = threading.Event()
        self._threads: list[threading.Thread] = []

    def load(self, path: str, per_second: float = 50) -> None:
        """Ask again and again; a request that is late is made up for."""
        self._threads.append(threading.Thread(target=self._ask, args=(path, per_second)))
        self._threads[-1].start()

    def end(self) -> None:
        """Stop load and service."""
        self._over.set()
        for thread in self._threads:
            thread.join()
        self.process.kill()
        self.process.communicate()

    def _ask(self, path: str, per_second: float) -> None:
        began, done = time.monotonic(), 0
        while not self._over.is_set():
            with contextlib.suppress(OSError, http.client.HTTPException):
                urllib.request.urlopen(f"http://127.0.0.1:{self.said[0]}{path}", timeout=60).close()
            done += 1
            self._over.wait(max(0.0, began + done / per_second - time.monotonic()))


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Callable[..., Service]]:
    """Starts the service, in a Python with the given arguments."""
    started: list[Service] = []
    script = tmp_path / "service.py"
    script.write_text(SERVICE)

    def start(*arguments: str, **environment: str) -> Service:
        line = [sys.executable, *arguments, str(script), "an argument"]
        variables = {"PATH": os.environ["PATH"], "PYTHONPATH": str(PACKAGE), **environment}
        started.append(Service(subprocess.Popen(line, env=variables, stdout=subprocess.PIPE, text=True)))
        return started[-1]

    yield start
    for one in started:
        one.end()
