# SPDX-License-Identifier: Apache-2.0
"""Stands between the controller and a server, so that nothing of the server outlives the run.

    python -m vllm_soak.engines.serve.guardian FD COMMAND...

It adopts whatever the server's processes leave behind, in whichever session that is, and ends all of it when the
server ends, when a byte arrives on FD (politely), or when FD is closed: the controller is gone. It ends as the
server did: with the same exit code, or by the same signal.
"""

from __future__ import annotations

import ctypes
import os
import select
import signal
import subprocess
import sys
from contextlib import suppress

from vllm_soak.engines.process_tree import KILL_SECONDS, TERM_SECONDS, descendants, end_all, kill_tree, living

PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36  # <sys/prctl.h>
# A server that was asked to end finishes its requests and releases its devices first.
POLITE_SECONDS = 20.0
# What is ended may leave further orphans: each pass ends one more generation.
MOST_PASSES = 5
# The longest that the end of a server takes, once it was asked for.
LONGEST_END = POLITE_SECONDS + 3 * (TERM_SECONDS + KILL_SECONDS)


def prctl(option: int, value: int) -> None:
    """Set a property of this process; Linux only, best effort."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(option, ctypes.c_ulong(value))


def start(command: list[str]) -> subprocess.Popen[bytes]:
    """Start the server; the kernel ends it should this process be killed."""
    prctl(PR_SET_CHILD_SUBREAPER, 1)
    return subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        preexec_fn=lambda: prctl(PR_SET_PDEATHSIG, signal.SIGKILL),  # noqa: PLW1509 - no thread runs here
    )


def watch(server: subprocess.Popen[bytes], fd: int) -> bool:
    """Wait until the server ends or the controller says so; return whether to end it politely."""
    ended = os.pidfd_open(server.pid)
    try:
        ready, _, _ = select.select([ended, fd], [], [])
    finally:
        os.close(ended)
    return fd not in ready or bool(os.read(fd, 1))


def end(server: subprocess.Popen[bytes], *, polite: bool) -> None:
    """End the server and everything that it left to this process."""
    if polite and server.poll() is None:
        server.terminate()
        with suppress(subprocess.TimeoutExpired):
            server.wait(POLITE_SECONDS)
    kill_tree(server)
    for _ in range(MOST_PASSES):
        orphans = living(descendants(os.getpid()))
        if not orphans:
            break
        end_all(orphans)


def end_as(code: int) -> None:
    """End this process as the server ended."""
    if code >= 0:
        os._exit(code)
    with suppress(OSError):  # SIGKILL has no handler to reset
        signal.signal(-code, signal.SIG_DFL)
    os.kill(os.getpid(), -code)
    os._exit(128 - code)


def main(arguments: list[str]) -> None:
    """Run a server until it ends or shall end."""
    fd = int(arguments[0])
    os.set_inheritable(fd, False)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    server = start(arguments[1:])
    end(server, polite=watch(server, fd))
    end_as(server.returncode)


if __name__ == "__main__":
    main(sys.argv[1:])
