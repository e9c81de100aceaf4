# SPDX-License-Identifier: Apache-2.0
"""A lock between processes that the kernel releases when its holder dies, however it dies."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def exclusive(path: Path, waiting: Callable[[], None]) -> Iterator[int]:
    """Hold the lock file `path`.

    The file stays when the lock is given up: removing it would let two holders in, one through
    the removed file and one through its successor.

    Args:
        path: The lock file; it and its folder are made when missing.
        waiting: Called once when another process holds the lock.

    Yields:
        The open descriptor. A child process that inherits it holds the lock as well, so a tool
        that outlives its killed parent still keeps others out of the folder it writes to.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        acquire(descriptor, waiting)
        yield descriptor
    finally:
        os.close(descriptor)


def acquire(descriptor: int, waiting: Callable[[], None]) -> None:
    """Take the lock, at once or after waiting for its holder."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        waiting()
        fcntl.flock(descriptor, fcntl.LOCK_EX)
