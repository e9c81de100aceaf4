# SPDX-License-Identifier: Apache-2.0
"""`vllm-soak locate`: what grows in a running process that carries the probe."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console

from vllm_soak.errors import EngineError, UsageError
from vllm_soak.locate.observer import Located, Observer
from vllm_soak.locate.socket_of_pid import find_socket
from vllm_soak.locate.windows import Windows
from vllm_soak.probe.client import ProbeClient
from vllm_soak.report.printable import printable
from vllm_soak.verdict.outcome import Outcome

# Why a probe does not answer.
BUSY = "it is stopped, hangs, or is in a census that another vllm-soak asked for: try again in a minute"
DEAD = "this socket is a left-over of a process that ended: see that yours is alive and carries the probe"


def locate(pid: int | None, socket: Path | None, windows: Windows, console: Console) -> int:
    """Watch a process, print what grows in it, and return the exit code.

    Args:
        pid: The process.
        socket: Its probe's socket, instead of a pid.
        windows: How long to look.
        console: Where to print.

    Raises:
        UsageError: Neither or both of pid and socket are given, or there is no probe.
        EngineError: The process ended or hangs; what was seen until then has been printed.
    """
    windows.check()
    observer = Observer(connected(probe_socket(pid, socket)), windows, console)
    try:
        observer.watch()
    except EngineError:
        show(observer.located(), console)  # what was seen until then is worth knowing
        raise
    except KeyboardInterrupt:  # likewise, and as good an answer as any
        observer.say("interrupted")
    found = observer.located()
    show(found, console)
    return found.exit_code


def connected(path: Path) -> ProbeClient:
    """A client of the probe behind a socket.

    Raises:
        UsageError: Nobody answers there.
    """
    probe = ProbeClient(path)
    try:
        probe.ping()
    except EngineError as silent:
        busy = isinstance(silent.__cause__, TimeoutError)
        remedy = BUSY if busy else DEAD
        raise UsageError(f"no probe answers at {path}", remedy) from silent
    return probe


def probe_socket(pid: int | None, socket: Path | None) -> Path:
    """The socket to ask.

    Raises:
        UsageError: It cannot be told, or is not there.
    """
    if (pid is None) == (socket is None):
        raise UsageError("locate needs one process", "give either --pid or --socket")
    if socket is None:
        return find_socket(pid or 0)
    if not socket.is_socket():
        raise UsageError(f"{socket} is not a probe's socket", "give the path of a running process's PID.sock, or --pid")
    return socket


def show(found: Located, console: Console) -> None:
    """Print ladders, then the answer; a reason that stands below a ladder is not said again."""
    verdict = found.verdict
    lines = [f"\n{one}" for one in found.grown]
    lines += [f"\n{verdict.outcome.value.upper()}  {printable(_not_said(found))}"]
    if verdict.outcome is Outcome.INCONCLUSIVE and verdict.settle:
        lines.append(f"to settle it: {printable(verdict.settle)}")
    for line in lines:
        console.print(line, highlight=False, markup=False, soft_wrap=True)


def _not_said(found: Located) -> str:
    reason = found.verdict.reason
    said = next((one.reason for one in found.grown if one.outcome is found.verdict.outcome), "")
    return reason.removesuffix(said).strip() or reason
