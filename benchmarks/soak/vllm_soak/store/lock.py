# SPDX-License-Identifier: Apache-2.0
"""One controller a run folder, for as long as it lives."""

from __future__ import annotations

import fcntl
import os
from typing import TYPE_CHECKING

from vllm_soak.errors import StoreError, UsageError

if TYPE_CHECKING:
    from pathlib import Path


class FolderLock:
    """An advisory lock on the run folder itself, so that no lock file is left behind.

    The kernel gives it back when the process ends, however it ends.

    Args:
        folder: An existing folder.

    Raises:
        UsageError: Another live controller holds the folder.
        StoreError: The folder cannot be opened, or its file system has no locks.
    """

    def __init__(self, folder: Path) -> None:
        self._fd = _open(folder)
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            self.release()
            raise UsageError(
                f"another vllm-soak is writing to {folder}", "wait for it or choose another run folder"
            ) from error
        except OSError as error:
            self.release()
            raise StoreError(
                f"{folder} cannot be locked ({error.strerror})", "choose a run folder on a local file system"
            ) from error

    def release(self) -> None:
        """Let the next controller in; harmless when repeated."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


def is_locked(folder: Path) -> bool:
    """Whether a live controller holds the folder; False where that cannot be told."""
    try:
        lock = FolderLock(folder)
    except UsageError:
        return True
    except StoreError:
        return False
    lock.release()
    return False


def _open(folder: Path) -> int:
    try:
        return os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise StoreError(
            f"the run folder {folder} cannot be opened ({error.strerror})",
            "choose a folder that you may read and write",
        ) from error
