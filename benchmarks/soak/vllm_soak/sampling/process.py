# SPDX-License-Identifier: Apache-2.0
"""Threads, open files and processor time of this process."""

from __future__ import annotations

from pathlib import Path

# Fields of /proc/self/stat after the command's closing bracket (proc(5) numbers them from 3).
_USER, _SYSTEM, _THREADS = 14 - 3, 15 - 3, 20 - 3


def process() -> dict[str, float]:
    """`threads`, `fds`, `cpu_user_jiffies`, `cpu_system_jiffies`."""
    return {**_stat(), **_open_files()}


def _stat() -> dict[str, float]:
    try:
        fields = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return {}
    return {
        "threads": float(fields[_THREADS]),
        "cpu_user_jiffies": float(fields[_USER]),
        "cpu_system_jiffies": float(fields[_SYSTEM]),
    }


def _open_files() -> dict[str, float]:
    folder = next((one for one in (Path("/proc/self/fd"), Path("/dev/fd")) if one.is_dir()), None)
    if folder is None:
        return {}
    # Less the one that listing the folder opens.
    return {"fds": float(sum(1 for _ in folder.iterdir()) - 1)}
