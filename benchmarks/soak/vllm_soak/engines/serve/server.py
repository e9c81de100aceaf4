# SPDX-License-Identifier: Apache-2.0
"""The server's process: started under its guardian, waited for until it is healthy, ended with all below it."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import psutil

from vllm_soak.engines.ending import (
    TAIL_LINES,
    EngineDiedError,
    EngineStalledError,
    explain_exit,
    oom_kills,
)
from vllm_soak.engines.process_tree import end_all, kill_tree, with_variable
from vllm_soak.engines.serve.guardian import LONGEST_END
from vllm_soak.engines.serve.health import Health
from vllm_soak.errors import EngineError
from vllm_soak.observe.log_tail import tail
from vllm_soak.probe.address import VARIABLE

LOOK_SECONDS = 0.25
# Weights are read and kernels compiled: as long as any other engine may take to start.
START_SECONDS = 1800.0
SAY_SECONDS = 15.0
# A server whose engine died ends a little later; this long it is given to do so.
FOLLOW_SECONDS = 15.0
LONGEST_LINE = 100

Say = Callable[[str], None]


class ServerProcess:
    """One server.

    Args:
        command: Its command line, interpreter first.
        log: File that takes everything its processes print; the working folder is made beside it.
        environment: The whole environment; the probe's folder in it is this server's alone.
        health: Where it will listen.
        start_seconds: How long it may take to become healthy.
    """

    def __init__(
        self,
        *,
        command: Sequence[str],
        log: Path,
        environment: Mapping[str, str],
        health: Health,
        start_seconds: float = START_SECONDS,
    ) -> None:
        self.command = list(command)
        self.log = log
        self.environment = dict(environment)
        self.health = health
        self.start_seconds = start_seconds
        self._guardian: subprocess.Popen[bytes] | None = None
        self._control = -1
        self._stopping = False
        self._ending = threading.RLock()  # not a plain lock: a signal's handler would wait for its own thread
        self._oom_kills = 0

    @property
    def work_folder(self) -> Path:
        """Working folder of the server: empty, for Python may look for modules there first."""
        return self.log.parent / f"work-{self.log.stem}"

    @property
    def log_tail(self) -> list[str]:
        """The last lines that it printed."""
        return tail(self.log, TAIL_LINES)

    @property
    def guardian_pid(self) -> int:
        """Process id of the guardian, above the whole tree; 0 before the launch."""
        return self._guardian.pid if self._guardian else 0

    def launch(self) -> None:
        """Start it without waiting.

        Raises:
            EngineError: Somebody listens on its port already, or it cannot be started.
        """
        if self.health.is_up():
            cause = f"another server answers at {self.health.url} already"
            raise EngineError(cause, "end it, or leave out --port: a free one is chosen then")
        theirs, self._control = os.pipe()
        self._oom_kills = oom_kills()
        self.work_folder.mkdir(mode=0o700, exist_ok=True)
        guardian = [sys.executable, "-m", "vllm_soak.engines.serve.guardian", str(theirs), *self.command]
        try:
            with self.log.open("ab") as sink:
                self._guardian = subprocess.Popen(
                    guardian,
                    stdin=subprocess.DEVNULL,
                    stdout=sink,
                    stderr=subprocess.STDOUT,
                    env=self.environment,
                    cwd=self.work_folder,
                    pass_fds=(theirs,),
                    start_new_session=True,  # Ctrl-C reaches the controller only, which then stops us in order
                )
        finally:
            os.close(theirs)

    def wait_healthy(self, say: Say) -> None:
        """Wait until it says that it is healthy, and say how far it is now and then.

        Raises:
            EngineDiedError: It ended before.
            EngineStalledError: It took too long.
            EngineError: `stop` was called meanwhile.
        """
        began = said = time.monotonic()
        while not self.health.is_up():
            now = time.monotonic()
            if died := self.death():
                raise died
            if self._stopping:
                raise EngineError("the server was stopped while it started", "start it again")
            if now - began > self.start_seconds:
                cause = f"the server at {self.health.url} was not healthy after {now - began:.0f} s"
                raise EngineStalledError(cause, "see its log in the run folder", self.log_tail)
            if now - said >= SAY_SECONDS:
                said = now
                say(f"the server is starting ({now - began:.0f} s): {last_line(self.log)}")
            time.sleep(LOOK_SECONDS)

    def death(self, patience: float = 0.0) -> EngineDiedError | None:
        """How it ended by itself; None while it runs, before its launch and after `stop`.

        Args:
            patience: Seconds to wait for its end.
        """
        if self._stopping or self._guardian is None:
            return None
        try:
            code = self._guardian.wait(patience) if patience else self._guardian.poll()
        except subprocess.TimeoutExpired:
            return None
        if code is None or self._stopping:  # it may have been asked to end meanwhile
            return None
        lines = self.log_tail
        cause, remedy = explain_exit(code, lines, oom_killed=oom_kills() > self._oom_kills, who="the server")
        return EngineDiedError(cause, remedy, lines)

    def stop(self) -> None:
        """End it and everything it started: politely, then by force; harmless when repeated, from any thread."""
        self._stopping = True
        with self._ending:
            if self._guardian is not None and self._control >= 0:
                self._end(self._guardian)

    def _end(self, guardian: subprocess.Popen[bytes]) -> None:
        control, self._control = self._control, -1
        with suppress(OSError):
            os.write(control, b".")
        os.close(control)
        with suppress(subprocess.TimeoutExpired):
            guardian.wait(LONGEST_END)
        kill_tree(guardian)
        end_all(self.stragglers())
        with suppress(OSError):  # not empty: the engine has left something there
            self.work_folder.rmdir()

    def stragglers(self) -> list[psutil.Process]:
        """Processes of this server that got away: the probe's folder in their environment is this server's alone."""
        folder = self.environment.get(VARIABLE)
        return with_variable(VARIABLE, folder) if folder and os.sep in folder else []


def last_line(log: Path) -> str:
    """The last line of a log that says anything, cut to one line of a terminal."""
    lines = [" ".join(line.split()) for line in tail(log, TAIL_LINES) if line.strip()]
    return lines[-1][:LONGEST_LINE] if lines else "it has printed nothing yet"
