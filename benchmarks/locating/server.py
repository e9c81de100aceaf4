# SPDX-License-Identifier: Apache-2.0
"""An API server as a user starts it, and requests over HTTP."""

from __future__ import annotations

import json
import random
import socket
import subprocess
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

from locating.engine import LOG, variables
from vllm_soak.engines.process_tree import kill_tree
from vllm_soak.errors import EngineError

if TYPE_CHECKING:
    from typing_extensions import Self

PATIENCE = 600.0
CLIENTS, PROMPT, VOCABULARY = 16, 220, 500


class Server:
    """`vllm.entrypoints.openai.api_server` with a probe in each of its processes; use it as a context.

    Args:
        python: Interpreter of the engine's environment.
        folder: Where its log and its probes' sockets go.
        model: The model's folder.
        blocks: KV blocks.
    """

    def __init__(self, python: Path, folder: Path, model: str, blocks: int) -> None:
        self.sockets = folder / "probe"
        self.sockets.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.log = folder / "server.log"
        self.port = free_port()
        self.sent = 0
        command = [str(python), "-m", "vllm.entrypoints.openai.api_server", "--model", model]
        command += ["--served-model-name", "tiny", "--load-format", "dummy", "--dtype", "float32", "--enforce-eager"]
        command += ["--block-size", "16", "--num-gpu-blocks-override", str(blocks), "--max-model-len", "2048"]
        command += ["--host", "127.0.0.1", "--port", str(self.port)]
        with self.log.open("ab") as sink:
            self.process = subprocess.Popen(
                command,
                env=variables(self.sockets, child=True),
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=sink,
                stderr=sink,
                start_new_session=True,
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """End it, and what it started."""
        kill_tree(self.process)

    def wait(self) -> None:
        """Wait until it answers.

        Raises:
            EngineError: It ended, or was not up in time.
        """
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until and self.process.poll() is None:
            if self._is_up():
                return
            time.sleep(1)
        raise EngineError("the API server is not up", LOG.format(log=self.log))

    def _is_up(self) -> bool:
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{self.port}/health", timeout=5).close()
        except OSError:
            return False
        return True

    def load(self, requests: int) -> None:
        """Serve so many unique requests."""
        numbers = range(self.sent, self.sent + requests)
        self.sent += requests
        with ThreadPoolExecutor(CLIENTS) as clients:
            list(clients.map(self._ask, numbers))

    def _ask(self, number: int) -> None:
        prompt = random.Random(number).choices(range(3, VOCABULARY), k=PROMPT)  # noqa: S311 - a load, not a secret
        body = json.dumps({"model": "tiny", "prompt": prompt, "max_tokens": 1, "temperature": 0}).encode()
        headers = {"Content-Type": "application/json"}
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}/v1/completions", body, headers)
        with urllib.request.urlopen(request, timeout=120) as answer:  # noqa: S310 - its address is made above
            answer.read()


def free_port() -> int:
    """A port of the loopback interface that nobody uses."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port
