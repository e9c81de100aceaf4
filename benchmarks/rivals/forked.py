# SPDX-License-Identifier: Apache-2.0
"""A function in a fork of this process, with a log of its own and a time limit."""

from __future__ import annotations

import os
import signal
import time
import traceback
from collections.abc import Callable
from pathlib import Path

LOOK_SECONDS = 0.1


def fork(action: Callable[[], None], log: Path, limit: float) -> str:
    """Run an action in a fork; how it failed, or an empty string.

    Args:
        action: What to do there.
        log: Takes what it prints.
        limit: Seconds after which it is killed.
    """
    pid = os.fork()
    if not pid:
        _child(action, log)
    until = time.monotonic() + limit
    while time.monotonic() < until:
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            code = os.waitstatus_to_exitcode(status)
            return f"ended with status {code}" if code else ""
        time.sleep(LOOK_SECONDS)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return f"stopped after {limit:.0f} s"


def _child(action: Callable[[], None], log: Path) -> None:
    """Do it and end, whatever happens, without running what the parent wants done at its exit."""
    code = 1
    try:
        target = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
        for stream in (1, 2):
            os.dup2(target, stream)
        action()
        code = 0
    except BaseException:  # noqa: BLE001 - the parent reads the exit code
        traceback.print_exc()
    finally:
        os._exit(code)
