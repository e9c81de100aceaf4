# SPDX-License-Identifier: Apache-2.0
"""A server and the load process beside it, driven as one target of an arm."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from vllm_soak.engines.dialogue import OnEvent, Progress
from vllm_soak.engines.ending import EngineDiedError, EngineRefusedError, EngineStalledError
from vllm_soak.engines.serve.followed import Followed, find_members, in_words
from vllm_soak.engines.serve.server import FOLLOW_SECONDS, LOOK_SECONDS, Say, ServerProcess
from vllm_soak.engines.silence import OnSilence
from vllm_soak.engines.soaked import Tree
from vllm_soak.engines.target import TargetProcess
from vllm_soak.errors import EngineError, UsageError
from vllm_soak.probe.client import NOT_LOADED

# What a load may report before the end of a process behind it is seen.
GRACE_SECONDS = 1.0
# After the last answer, the engine takes one more step to let go of finished requests.
IDLE_SECONDS = 30.0
CALM_SECONDS = 0.3
# How the load process says that nobody listens any more.
REFUSED = "refused every connection"
# A load without one finished request for so long, while a process of the server is held, never ends.
HELD_SECONDS = 30.0


class ServeTarget:
    """One server under load.

    Args:
        server: The server, not yet started.
        load: The load process, not yet started.
        sockets: Folder of the probe's sockets.
        facts: What is known of the engine before it runs.
        say: Takes lines about how far the start is.
    """

    def __init__(
        self,
        server: ServerProcess,
        load: TargetProcess,
        sockets: Path,
        facts: Mapping[str, Any],
        say: Say = lambda _: None,
    ) -> None:
        self.server = server
        self.load = load
        self.sockets = sockets
        self.facts = dict(facts)
        self.say = say
        self.followed = Followed()
        self._cause: EngineError | None = None
        self._stopped = False

    def launch(self) -> None:
        """Start the server and, idle, the load process: from the calling thread, which must live as long as it."""
        self.server.launch()
        self.load.launch()

    def request(
        self,
        command: str,
        *,
        on_progress: Progress | None = None,
        on_silence: OnSilence | None = None,
        on_event: OnEvent | None = None,
        **arguments: Any,
    ) -> dict[str, Any]:
        """`start` waits for the server and starts the load process; `load` loads the server until it is idle again.

        Raises:
            EngineError: The server failed, ended, or was silent for too long.
        """
        if command == "start":
            return self._start(arguments)
        if command == "load":
            return self._load(on_progress, on_silence, on_event, arguments)
        raise UsageError(f"a server cannot be asked to {command}", "use --driver inproc for that")

    def probe_sockets(self) -> list[Path]:
        """Sockets of the server's processes that carry the probe."""
        return [one.socket for one in self.followed.members]

    def tree(self) -> Tree:
        """The server's processes that carry the probe."""
        members = self.followed.members
        roles = {one.role: one.process.pid for one in members}
        root = roles.get("APIServer") or self.server.guardian_pid
        return Tree(
            root, self.server.health.url, roles, {one.process.pid: one.socket for one in members}, self.server.log
        )

    def death(self) -> EngineError | None:
        """How the server, or the first of its processes to go, ended."""
        if self._cause is None:
            self._cause = self._lost() if self.followed.look() else self.server.death()
        return None if self._stopped else self._cause

    def held(self) -> list[str]:
        """The server's processes that a signal or a tracer holds."""
        return [] if self._stopped else in_words(self.followed.stopped())

    def stop(self) -> None:
        """End the load, then the server with everything it started."""
        self._stopped = True
        self.load.stop()
        self.server.stop()

    def _start(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        self.server.wait_healthy(self.say)
        self.followed.members = find_members(self.sockets.glob("*.sock"))
        if not self.followed.members:
            raise not_armed(self.sockets)
        served = self.server.health.model()
        order = {"url": self.server.health.url, "max_model_len": served.get("max_model_len"), **arguments}
        ready = self._by_load(lambda: self.load.request("start", **order))
        python = next((one.python for one in self.followed.members), "")
        return {
            **self.facts,
            "version": self.server.health.version() or self.facts.get("version", ""),
            "python": python,
            "model": served.get("root") or served.get("id") or self.facts.get("model", ""),
            "max_model_len": served.get("max_model_len"),
            "pid": self.server.guardian_pid,
            "processes": {one.role: one.process.pid for one in self.followed.members},
            "load": ready,
        }

    def _load(
        self,
        on_progress: Progress | None,
        on_silence: OnSilence | None,
        on_event: OnEvent | None,
        arguments: Mapping[str, Any],
    ) -> dict[str, Any]:
        pulse = Pulse(self._is_hurt, self.followed, on_progress)
        done = self._by_load(
            lambda: self.load.request("load", on_progress=pulse, on_silence=on_silence, on_event=on_event, **arguments)
        )
        self._wait_idle()
        return done

    def _by_load(self, action: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """Run a command of the load process; what became of the server is the better explanation of a failure."""
        try:
            return action()
        except (EngineRefusedError, EngineDiedError) as failure:
            raise (self._death_soon() or self._alive(failure)) from None

    def _alive(self, failure: EngineError) -> EngineError:
        """A failure of every request while all processes of the server live, with the server's own last words."""
        if not isinstance(failure, EngineRefusedError) or self.server.health.url not in failure.cause:
            return failure
        cause, remedy = (
            f"{failure.cause}, while all its processes live",
            "see the server's log for what closed its port",
        )
        return EngineRefusedError(
            cause, remedy if REFUSED in cause else failure.remedy, self.server.log_tail, failure.traceback
        )

    def _is_hurt(self) -> bool:
        """Whether the server, or one of its processes, is gone."""
        return self.followed.look() or self.server.death() is not None

    def _death_soon(self) -> EngineError | None:
        """How the server ended, with a little patience: its end may be seen later than what it broke."""
        until = time.monotonic() + GRACE_SECONDS
        while not self._is_hurt() and time.monotonic() < until:
            time.sleep(LOOK_SECONDS)
        return self.death()

    def _lost(self) -> EngineError:
        """Say which process was gone first, and what became of the server."""
        ended = self.server.death(FOLLOW_SECONDS)
        roles = {role for role, _ in self.followed.ended}
        if ended and (len(roles) == len(self.followed.members) or "APIServer" in roles):
            return ended
        who = " and ".join(f"{role} (pid {pid})" for role, pid in self.followed.ended)
        then = f"then {ended.cause}" if ended else "its API server lives on"
        cause = f"{who} of the server ended, {then}"
        return EngineDiedError(cause, "see the server's log in the run folder for why", self.server.log_tail)

    def _wait_idle(self) -> None:
        """Wait until the server has no open request; a server that does not say is given a moment."""
        until = time.monotonic() + IDLE_SECONDS
        while (self.server.health.open_requests() or 0.0) > 0 and time.monotonic() < until:
            time.sleep(CALM_SECONDS)
        time.sleep(CALM_SECONDS)


class Pulse:
    """Passes on the progress of a load, and ends it when the server is hurt or one of its processes is held.

    Args:
        is_hurt: Whether the server lost a process.
        followed: The server's processes.
        on_progress: Takes requests done and wanted.
    """

    def __init__(self, is_hurt: Callable[[], bool], followed: Followed, on_progress: Progress | None) -> None:
        self.is_hurt = is_hurt
        self.followed = followed
        self.on_progress = on_progress
        self._done = -1
        self._since = time.monotonic()

    def __call__(self, done: int, total: int) -> None:
        """One sign of life of the load process.

        Raises:
            EngineDiedError: A process of the server is gone.
            EngineStalledError: Nothing is finished any more, and a process of the server is held by a signal.
        """
        if done != self._done:
            self._done, self._since = done, time.monotonic()
        if self.is_hurt():
            raise EngineDiedError("a process of the server is gone", "see its log in the run folder", [])
        self._check_held(time.monotonic() - self._since)
        if self.on_progress is not None:
            self.on_progress(done, total)

    def _check_held(self, seconds: float) -> None:
        held = self.followed.stopped() if seconds >= HELD_SECONDS else []
        if not held:
            return
        who = " and ".join(in_words(held))
        cause = f"no request was finished for {seconds:.0f} s, since {who} was stopped by a signal"
        raise EngineStalledError(cause, "find out what sent SIGSTOP, and run again", [])


def not_armed(sockets: Path) -> EngineError:
    """Why none of a healthy server's processes answers."""
    cause = f"no process of the server reports: no probe was armed in {sockets}"
    return EngineError(cause, NOT_LOADED)
