# SPDX-License-Identifier: Apache-2.0
"""Ends a process and everything it started, whoever adopted it meanwhile."""

from __future__ import annotations

import os
import signal
import subprocess
from contextlib import suppress

import psutil

# Between SIGTERM and SIGKILL; engines with workers need a moment to release devices.
TERM_SECONDS = 5.0
KILL_SECONDS = 2.0


def descendants(pid: int) -> list[psutil.Process]:
    """All processes below `pid`, none when it is gone."""
    try:
        return psutil.Process(pid).children(recursive=True)
    except psutil.NoSuchProcess:
        return []


def session_members(pid: int) -> list[psutil.Process]:
    """Processes of the session that `pid` leads: orphans of a dead leader are still in it."""
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error, ProcessLookupError):
            if process.pid != pid and os.getsid(process.pid) == pid:
                found.append(process)
    return found


def is_stopped(pid: int) -> bool:
    """Whether a signal (SIGSTOP, SIGTSTP) or a tracer holds a process."""
    try:
        return psutil.Process(pid).status() in {psutil.STATUS_STOPPED, psutil.STATUS_TRACING_STOP}
    except psutil.Error:
        return False


def kill_tree(leader: subprocess.Popen[bytes]) -> None:
    """End a session's leader and all below it: SIGTERM, a grace, then SIGKILL.

    Args:
        leader: Started with `start_new_session=True`, so that its session holds nobody else.
    """
    tree = {process.pid: process for process in descendants(leader.pid) + session_members(leader.pid)}
    if leader.poll() is None:
        leader.terminate()
    signal_all(list(tree.values()), signal.SIGTERM)
    wake(leader, list(tree.values()))
    wait_for(leader, list(tree.values()))
    if leader.poll() is None:
        leader.kill()
    signal_all(list(tree.values()), signal.SIGKILL)
    leader.wait()
    # A killed orphan stays visible until whoever adopted it reaps it: not ours to wait for long.
    psutil.wait_procs(tree.values(), timeout=KILL_SECONDS)


def wake(leader: subprocess.Popen[bytes], others: list[psutil.Process]) -> None:
    """Let stopped processes go on, for only then do they take SIGTERM."""
    if leader.poll() is None:
        leader.send_signal(signal.SIGCONT)
    signal_all(others, signal.SIGCONT)


def wait_for(leader: subprocess.Popen[bytes], others: list[psutil.Process]) -> None:
    """Wait until all are gone, at most the grace."""
    with suppress(subprocess.TimeoutExpired):
        leader.wait(TERM_SECONDS)
    psutil.wait_procs(others, timeout=TERM_SECONDS)


def signal_all(processes: list[psutil.Process], number: int) -> None:
    """Send a signal to those that still live; a reused pid is recognised by its start time."""
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            process.send_signal(number)


def end_all(processes: list[psutil.Process]) -> None:
    """End processes that have no common leader: SIGTERM, a grace, then SIGKILL."""
    signal_all(processes, signal.SIGTERM)
    signal_all(processes, signal.SIGCONT)
    _, left = psutil.wait_procs(processes, timeout=TERM_SECONDS)
    signal_all(left, signal.SIGKILL)
    psutil.wait_procs(left, timeout=KILL_SECONDS)


def living(processes: list[psutil.Process]) -> list[psutil.Process]:
    """Those that have not ended; a zombie has."""
    found = []
    for process in processes:
        with suppress(psutil.Error):
            if process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
    return found


def with_variable(name: str, value: str) -> list[psutil.Process]:
    """This user's processes that were started with an environment variable, whoever is their parent now."""
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error, OSError):
            if process.environ().get(name) == value:
                found.append(process)
    return found
