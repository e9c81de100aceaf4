# SPDX-License-Identifier: Apache-2.0
"""How an engine's process ended, in one sentence: exit code or signal, and what the log says."""

from __future__ import annotations

import signal
from collections.abc import Sequence
from pathlib import Path

from vllm_soak.engines.failure import recognise
from vllm_soak.errors import EngineError

TAIL_LINES = 15
# What the process that offers the load is called in messages.
LOAD = "the load process"
SEE_LOG = "see the log in the run folder"

SIGNAL_REMEDIES: dict[int, str] = {
    signal.SIGKILL: "someone or the system killed it; if memory was short, lower --num-gpu-blocks-override",
    signal.SIGTERM: "something asked it to end; run again",
    signal.SIGSEGV: "native code crashed; see the log in the run folder",
    signal.SIGILL: "the engine was built for another processor; use a release built for this one",
    signal.SIGABRT: "native code gave up; see the log in the run folder",
}


class EngineLoggedError(EngineError):
    """A failure of an engine that has printed something.

    Args:
        cause: What went wrong, in words.
        remedy: What to do.
        log_tail: The last lines of its log.
    """

    def __init__(self, cause: str, remedy: str, log_tail: Sequence[str]) -> None:
        super().__init__(cause, remedy)
        self.log_tail = list(log_tail)


class EngineDiedError(EngineLoggedError):
    """The engine's process ended without being asked to."""


class EngineStalledError(EngineLoggedError):
    """The engine's process lives, but has said nothing for too long."""


class EngineRefusedError(EngineLoggedError):
    """The engine answered a command with a failure.

    Args:
        cause: What went wrong, in words.
        remedy: What to do.
        log_tail: The last lines of its log.
        traceback: Traceback inside the engine, for `--debug`.
    """

    def __init__(self, cause: str, remedy: str, log_tail: Sequence[str], traceback: str) -> None:
        super().__init__(cause, remedy, log_tail)
        self.traceback = traceback


def explain_stall(pid: int, seconds: float, *, stopped: bool) -> tuple[str, str]:
    """Cause and remedy of a silence.

    Args:
        pid: The engine's process.
        seconds: Length of the silence.
        stopped: Whether a signal holds the process.
    """
    cause = f"the engine made no progress for {seconds:.0f} s"
    if stopped:
        return f"{cause}, since its process {pid} was stopped by a signal", "find out what sent SIGSTOP, and run again"
    return cause, "it hangs, or one step takes it longer than that; see the log in the run folder"


def explain_exit(code: int, log_tail: Sequence[str], *, oom_killed: bool, who: str = "the engine") -> tuple[str, str]:
    """Cause and remedy of an exit.

    Args:
        code: As `subprocess` has it: negative for a signal.
        log_tail: The last lines of the log; a failure known by its text explains the exit.
        oom_killed: Whether the kernel killed a process for memory while the engine ran.
        who: Whose exit it is.
    """
    how = f"{who} was ended by {signal_name(-code)}" if code < 0 else f"{who} ended with exit code {code}"
    if code == -signal.SIGKILL and oom_killed:
        return f"{how}, and the kernel reports an out-of-memory kill", "lower --num-gpu-blocks-override, or free memory"
    if who == LOAD:
        return how, "it runs beside the engine, which did not fail; find out what ended it, and run again"
    known = recognise("\n".join(log_tail)) if code > 0 else None
    if known:
        return f"{how}: {known[0]}", known[1]
    return how, SIGNAL_REMEDIES.get(-code, SEE_LOG)


def signal_name(number: int) -> str:
    """`SIGKILL` for 9; the number itself where Python has no name."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def oom_kills() -> int:
    """Processes that the kernel has killed for memory since it started; 0 where it does not count."""
    try:
        lines = Path("/proc/vmstat").read_text(encoding="ascii").splitlines()
    except OSError:
        return 0
    counts = [int(line.split()[1]) for line in lines if line.startswith("oom_kill ")]
    return sum(counts)
