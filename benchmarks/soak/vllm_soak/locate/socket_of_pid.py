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
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        raise UsageError(f"there is no process {pid}", "give the pid of a running process") from None
    except PermissionError:
        raise UsageError(f"process {pid} belongs to another user", "run as that user, or as root") from None
    looked = [socket_of(folder, pid) for folder in dict.fromkeys(_folders(pid))]
    found = next((path for path in looked if path.is_socket()), None)
    if found is None:
        where = ", ".join(str(path.parent) for path in looked)
        raise UsageError(f"process {pid} carries no probe (no {pid}.sock in {where})", HOW)
    return found


def _folders(pid: int) -> Iterator[Path]:
    for environment in (_environment(pid), os.environ):
        named = environment.get(VARIABLE, "")
        if named not in {"", "0", "1"}:
            yield Path(named)
        yield from default_folders(environment, _user(pid))
    yield Path(tempfile.gettempdir()) / f"vllm-soak-{_user(pid)}"


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
