# SPDX-License-Identifier: Apache-2.0
"""Where the probe of a running process listens."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from vllm_soak.errors import UsageError
from vllm_soak.probe.address import VARIABLE, default_folders, socket_of

HOW = (
    "start the process with `python -m vllm_soak.probe SCRIPT`, or call `vllm_soak.probe.arm()` in it, or (a vLLM "
    "process) set VLLM_SOAK_PROBE=1; name a socket that lies elsewhere with --socket"
)


def find_socket(pid: int) -> Path:
    """The socket of a process's probe, in the folder that its environment or ours names, or a default one.

    Raises:
        UsageError: There is no such process, it is another user's, or it carries no probe that can be found.
    """
    if not _lives(pid):
        raise UsageError(f"there is no process {pid}", "give the pid of a running process")
    looked = [*dict.fromkeys(_sockets(pid))]
    found = next((path for path in looked if path.is_socket()), None)
    if found is None:
        where = ", ".join(str(path.parent) for path in looked)
        raise UsageError(f"process {pid} carries no probe (no {pid}.sock in {where})", HOW)
    return found


def _lives(pid: int) -> bool:
    """Whether there is such a process; numbers below 1 would be taken for a group of them.

    Raises:
        UsageError: It is another user's.
    """
    if pid < 1:
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        raise UsageError(f"process {pid} belongs to another user", "run as that user, or as root") from None
    return True


def _sockets(pid: int) -> Iterator[Path]:
    """Where the socket may be: as this process sees the file system, then as that process in its container does."""
    for folder in _folders(pid):
        yield socket_of(folder, pid)
    inside = _number_inside(pid)
    if inside != pid:
        for folder in _folders(pid):
            yield socket_of(Path(f"/proc/{pid}/root") / str(folder).lstrip("/"), inside)


def _folders(pid: int) -> Iterator[Path]:
    for environment, folder in ((_environment(pid), Path(f"/proc/{pid}/cwd")), (os.environ, Path.cwd())):
        named = environment.get(VARIABLE, "")
        if named not in {"", "0", "1"}:
            yield _real(folder) / named
        yield from default_folders(environment, _user(pid))
    yield Path(tempfile.gettempdir()) / f"vllm-soak-{_user(pid)}"


def _real(folder: Path) -> Path:
    """Where a process's working folder is; ours where that cannot be read."""
    try:
        return folder.readlink() if folder.is_symlink() else folder
    except OSError:
        return Path.cwd()


def _number_inside(pid: int) -> int:
    """The number that a process has in its own container."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines()
        return int(next(line for line in lines if line.startswith("NSpid:")).split()[-1])
    except (OSError, StopIteration):
        return pid


def _environment(pid: int) -> Mapping[str, str]:
    """A process's environment as it was at its start; empty where it cannot be read."""
    try:
        pairs = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return {}
    return dict(os.fsdecode(pair).partition("=")[::2] for pair in pairs)


def _user(pid: int) -> int:
    try:
        return Path(f"/proc/{pid}").stat().st_uid
    except OSError:
        return os.getuid()
