# SPDX-License-Identifier: Apache-2.0
"""What SQLite and the operating system say, turned into one sentence with a remedy."""

from __future__ import annotations

import errno
import os
import sqlite3
from typing import TYPE_CHECKING

from vllm_soak.errors import StoreError

if TYPE_CHECKING:
    from pathlib import Path

_ROOM = "free some space and start again; `vllm-soak report` prints what was written before"
_RIGHTS = "choose a run folder that you may write to"
_DEVICE = "check the disk or choose another run folder; what was written before can be reported"


# The shared-memory file grows in steps of 32 KiB.
LITTLE_ROOM = 32 * 1024


def removed(folder: Path) -> StoreError:
    """Return the StoreError for a run whose folder vanished under it."""
    return StoreError(
        f"the run folder {folder} was removed while the run was under way",
        "start again and leave the folder in place until the run has ended",
    )


def write_failure(file: Path, error: Exception) -> StoreError:
    """Return the StoreError that says why `file` could not be written."""
    if _is_full(error) or _has_no_room(file):
        return StoreError(f"no space is left to write {file}", _ROOM)
    if _is_readonly(error):
        return StoreError(f"{file} cannot be written ({error})", _RIGHTS)
    return StoreError(f"{file} cannot be written ({error})", _DEVICE)


def _is_full(error: Exception) -> bool:
    if isinstance(error, OSError):
        return error.errno in {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
    return _code(error) == sqlite3.SQLITE_FULL


def _has_no_room(file: Path) -> bool:
    """Whether the disk is all but full: SQLite calls it an I/O error when its shared memory cannot grow."""
    try:
        free = os.statvfs(file.parent)
    except OSError:
        return False
    return free.f_bavail * free.f_frsize < LITTLE_ROOM


def _is_readonly(error: Exception) -> bool:
    if isinstance(error, OSError):
        return error.errno in {errno.EROFS, errno.EACCES, errno.EPERM}
    return _code(error) in {sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM}


def _code(error: Exception) -> int:
    """Return SQLite's primary result code, without the extension in the upper bits."""
    return int(getattr(error, "sqlite_errorcode", 0)) & 0xFF
