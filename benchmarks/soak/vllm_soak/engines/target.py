# SPDX-License-Identifier: Apache-2.0
"""The controller's side of a target: starts the host process, talks to it, and sees how it ended."""

from __future__ import annotations

import os
import subprocess
import threading
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from vllm_soak.engines.channel import Channel, Closed
from vllm_soak.engines.dialogue import Dialogue, OnEvent, Progress
from vllm_soak.engines.ending import (
    SEE_LOG,
    TAIL_LINES,
    EngineDiedError,
    EngineRefusedError,
    EngineStalledError,
    explain_exit,
    explain_stall,
    oom_kills,
)
from vllm_soak.engines.process_tree import is_stopped, kill_tree
from vllm_soak.engines.silence import OnSilence, Patience, Silence, Stalled
from vllm_soak.errors import EngineError
from vllm_soak.observe.log_tail import tail

# A clean stop: the interpreter's shutdown takes seconds with torch loaded.
STOP_SECONDS = 20.0
# Between the end of the channel and the end of the process.
REAP_SECONDS = 10.0

HOST = "vllm_soak.engines.host"


class TargetProcess:
    """One engine, or the load for one, in a process (and session) of its own.

    Args:
        python: Interpreter of the engine's environment.
        log: File that takes everything the engine prints; the working folder is made beside it.
        probe_folder: Folder of the probe's sockets (`VLLM_SOAK_PROBE`).
        environment: The whole environment of the process.
        patience: How long it may be silent.
        module: What the process runs; it speaks the control channel.
        who: What it is called in messages.
    """

    def __init__(
        self,
        *,
        python: Path,
        log: Path,
        probe_folder: Path,
        environment: Mapping[str, str],
        patience: Patience | None = None,
        module: str = HOST,
        who: str = "the engine",
    ) -> None:
        self.python = python
        self.module = module
        self.who = who
        self.log = log
        self.probe_folder = probe_folder
        self.environment = dict(environment)
        self.patience = patience or Patience()
        self._process: subprocess.Popen[bytes] | None = None
        self._dialogue: Dialogue | None = None
        self._stopped = self._over = False
        self._ending = threading.RLock()  # not a plain lock: a signal's handler would wait for its own thread
        self._oom_kills = 0

    @property
    def pid(self) -> int:
        """Process id of the host.

        Raises:
            EngineError: The process was not launched.
        """
        return self._started().pid

    def probe_sockets(self) -> list[Path]:
        """Sockets of the probes of the engine's processes: the host is its only one."""
        return [self.probe_folder / f"{self.pid}.sock"]

    def tree(self) -> None:
        """A host is a single process: its probe says all that there is."""

    @property
    def work_folder(self) -> Path:
        """Working folder of the process: empty, for Python may look for modules there first.

        A `json.py` in the run folder would otherwise stand in for the library's.
        """
        return self.log.parent / f"work-{self.log.stem}"

    @property
    def log_tail(self) -> list[str]:
        """The last lines that the engine printed."""
        return tail(self.log, TAIL_LINES)

    def launch(self) -> None:
        """Start the process without waiting for anything.

        Call it from a thread that lives as long as the process shall: Linux ends the host with that thread.

        Raises:
            EngineError: The interpreter cannot be started.
        """
        ours_in, theirs_out = os.pipe()
        theirs_in, ours_out = os.pipe()
        self._dialogue = Dialogue(Channel(ours_in, ours_out), lambda: self._started().poll() is None)
        self._oom_kills = oom_kills()
        try:
            self._process = self._popen(theirs_in, theirs_out)
        except OSError as error:
            self._dialogue.close()
            raise EngineError(
                f"the engine's interpreter {self.python} cannot be started ({error.strerror})",
                "give --python an interpreter that can import vllm, or use --engine NAME==VERSION",
            ) from error
        finally:
            os.close(theirs_in)
            os.close(theirs_out)

    def request(
        self,
        command: str,
        *,
        on_progress: Progress | None = None,
        on_silence: OnSilence | None = None,
        on_event: OnEvent | None = None,
        **arguments: Any,
    ) -> dict[str, Any]:
        """Send one command and wait for its answer.

        Args:
            command: `start`, `load` or `stop`.
            on_progress: Takes (done, total) while the command runs.
            on_silence: Takes the seconds since the last message, when it has been quiet for long.
            on_event: Takes every event but progress, as it came.
            **arguments: As in `docs/contracts.md`.

        Raises:
            EngineError: The engine answered with a failure, its process ended, or it was silent for too long.
        """
        self._started()
        assert self._dialogue is not None
        silence = Silence(self.patience.limit(command), self.patience.note, on_silence)
        try:
            return self._payload(self._dialogue.ask(command, arguments, silence, on_progress, on_event))
        except Closed as reason:
            raise self._ended() from reason
        except Stalled as reason:
            raise self._stalled(reason.seconds) from reason

    def death(self) -> EngineError | None:
        """How the process ended by itself; None while it runs, before its launch and after `stop`."""
        if self._process is None or self._process.poll() is None or self._stopped:
            return None
        return self._ended()

    def held(self) -> list[str]:
        """The engine's process, if a signal or a tracer holds it."""
        return [f"the engine's process {self.pid}"] if not self._stopped and is_stopped(self.pid) else []

    def stop(self) -> None:
        """End the process and everything it started: politely when it is idle, else by force; from any thread."""
        if self._process is None:
            return
        self._stopped = True
        with self._ending:
            if not self._over:  # its pid may be another's by now
                self._end(self._process)
            self._over = True

    def _end(self, process: subprocess.Popen[bytes]) -> None:
        if process.poll() is None and self._dialogue is not None and not self._dialogue.waiting:
            self._ask_to_stop(process)
        kill_tree(process)
        if self._dialogue is not None:
            self._dialogue.close()
        with suppress(OSError):  # not empty: the engine has left something there
            self.work_folder.rmdir()

    def _popen(self, theirs_in: int, theirs_out: int) -> subprocess.Popen[bytes]:
        command = [str(self.python), "-m", self.module]
        command += ["--control-in", str(theirs_in), "--control-out", str(theirs_out)]
        self.work_folder.mkdir(mode=0o700, exist_ok=True)
        with self.log.open("ab") as sink:
            return subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=sink,
                stderr=subprocess.STDOUT,
                env=self.environment,
                cwd=self.work_folder,
                pass_fds=(theirs_in, theirs_out),
                start_new_session=True,  # Ctrl-C reaches the controller only, which then stops us in order
            )

    def _payload(self, answer: dict[str, Any]) -> dict[str, Any]:
        if "error" in answer:
            error = answer["error"]
            raise EngineRefusedError(error["cause"], error["remedy"], self.log_tail, error.get("traceback", ""))
        return next(value for key, value in answer.items() if key != "id")

    def _ask_to_stop(self, process: subprocess.Popen[bytes]) -> None:
        try:
            self.request("stop")
            process.wait(STOP_SECONDS)
        except (EngineError, subprocess.TimeoutExpired):
            pass  # it is killed next, and nothing depends on how it went

    def _ended(self) -> EngineDiedError:
        process = self._started()
        try:
            code = process.wait(REAP_SECONDS)
        except subprocess.TimeoutExpired:
            kill_tree(process)
            return EngineDiedError(f"{self.who} closed its control channel", SEE_LOG, self.log_tail)
        lines = self.log_tail
        cause, remedy = explain_exit(code, lines, oom_killed=oom_kills() > self._oom_kills, who=self.who)
        return EngineDiedError(cause, remedy, lines)

    def _stalled(self, seconds: float) -> EngineStalledError:
        cause, remedy = explain_stall(self.pid, seconds, stopped=is_stopped(self.pid))
        return EngineStalledError(cause, remedy, self.log_tail)

    def _started(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            raise EngineError("the engine was not started", "call launch first")
        return self._process
