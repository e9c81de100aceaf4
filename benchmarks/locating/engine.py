# SPDX-License-Identifier: Apache-2.0
"""Starts an engine's process, in process or with its core in a child, and tells it what to serve."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vllm_soak.engines.process_tree import kill_tree
from vllm_soak.errors import EngineError

if TYPE_CHECKING:
    from typing_extensions import Self

BENCHMARKS = Path(__file__).resolve().parents[1]
LOG = "see what it printed in {log}"


class Engine:
    """One `locating.target` process; use it as a context.

    Args:
        python: Interpreter of the engine's environment.
        folder: Where its log and its probe's sockets go.
        arguments: Of `locating.target`.
        child: Whether the engine core runs in a child process.
    """

    def __init__(self, python: Path, folder: Path, arguments: list[str], *, child: bool) -> None:
        self.sockets = folder / "probe"
        self.sockets.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.log = folder / "engine.log"
        with self.log.open("ab") as sink:
            self.process = subprocess.Popen(
                [str(python), "-m", "locating.target", *arguments],
                env=variables(self.sockets, child=child),
                cwd=folder,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=sink,
                start_new_session=True,
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """End it, and what it started."""
        kill_tree(self.process)

    def ask(self, command: str) -> dict[str, Any]:
        """Give a command and wait for its answer."""
        self.say(command)
        return self.answer()

    def say(self, command: str) -> None:
        """Give a command."""
        assert self.process.stdin is not None
        self.process.stdin.write(command.encode() + b"\n")
        self.process.stdin.flush()

    def answer(self) -> dict[str, Any]:
        """The next answer.

        Raises:
            EngineError: The process ended.
        """
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise EngineError("the engine's process ended", LOG.format(log=self.log))
        found: dict[str, Any] = json.loads(line)
        return found


def variables(sockets: Path, *, child: bool) -> dict[str, str]:
    """The environment of an engine: nothing patched, a probe in every process."""
    return {
        **os.environ,
        "PYTHONPATH": str(BENCHMARKS),
        "VLLM_SOAK_PATCHES": "none",
        "VLLM_SOAK_PROBE": str(sockets),
        "VLLM_ENABLE_V1_MULTIPROCESSING": str(int(child)),
        "VLLM_NO_USAGE_STATS": "1",
        "VLLM_CPU_KVCACHE_SPACE": "1",
        "HF_HUB_OFFLINE": "1",
        "OMP_NUM_THREADS": "1",
        "VLLM_CPU_OMP_THREADS_BIND": "nobind",
    }
