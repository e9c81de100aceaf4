# SPDX-License-Identifier: Apache-2.0
"""Python stacks of a live process, by py-spy: from outside, without a change to the process.

py-spy stops the process for the milliseconds that it reads, so it needs the right to trace it.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

from vllm_soak.observe.proc_stat import read_stat

ALLOW = (
    "run vllm-soak as the server's user with kernel.yama.ptrace_scope=0, or as root; "
    "in a container add --cap-add=SYS_PTRACE"
)
# Stopped by a signal or by a tracer.
STOPPED = frozenset("Tt")
CANNOT_STOP = "Failed to suspend process"


def spy() -> str | None:
    """Return py-spy's path: beside this interpreter, else on PATH."""
    own = Path(sys.executable).with_name("py-spy")
    return str(own) if own.is_file() else shutil.which("py-spy")


def dump(pid: int, *, native: bool, seconds: float) -> tuple[str, str]:
    """Return the stacks of all threads of a process, and why there are none.

    Args:
        pid: The process.
        native: Show native frames between Python's as well; takes longer.
        seconds: How long it may take.
    """
    tool = spy()
    if tool is None:
        return "", "no stacks: py-spy is not installed (pip install py-spy)"
    before = read_stat(pid)
    if before is None:
        return "", f"no stacks of process {pid}: it is gone"
    # One that is stopped already need not be stopped, and would not answer to it.
    how = ["--nonblocking"] if before.state in STOPPED else ["--native"] if native else []
    command = [tool, "dump", "--pid", str(pid)]
    try:
        done = run([*command, *how], seconds)
        if CANNOT_STOP in done.stderr:  # somebody else stops and wakes it all the time
            done = run([*command, "--nonblocking"], seconds)
    except subprocess.TimeoutExpired:
        return "", f"no stacks of process {pid}: py-spy took longer than {seconds:g} s"
    except OSError as error:
        return "", f"no stacks: {tool} cannot be run ({error.strerror})"
    finally:
        if before.state not in STOPPED:
            let_go_on(pid, before.started)
    return (done.stdout, "") if done.returncode == 0 else ("", complaint(pid, done.stderr))


def run(command: list[str], seconds: float) -> subprocess.CompletedProcess[str]:
    """Run py-spy to its end, at most so long."""
    return subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=seconds, check=False)


def let_go_on(pid: int, started: int) -> None:
    """Wake a process that a tracer which was ended may have left stopped."""
    now = read_stat(pid)
    if now is not None and now.started == started and now.state == "T":
        with suppress(OSError):
            os.kill(pid, signal.SIGCONT)


def complaint(pid: int, said: str) -> str:
    """Return why py-spy had no stacks, with what to do where tracing is not allowed."""
    if "permission" in said.lower() or "not permitted" in said.lower():
        return f"no stacks of process {pid}: this user may not trace it; {ALLOW}"
    lines = [line.strip() for line in said.partition("Stack backtrace:")[0].splitlines()]
    causes = [line.removeprefix("Error: ") for line in lines if line and line != "Caused by:"]
    return f"no stacks of process {pid}: {'; '.join(causes) or 'py-spy said nothing'}"
