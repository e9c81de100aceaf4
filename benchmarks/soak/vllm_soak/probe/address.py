# SPDX-License-Identifier: Apache-2.0
"""Where a process's probe listens, and how a socket with a long path is reached."""

from __future__ import annotations

import contextlib
import os
import socket
import stat
import struct
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

VARIABLE = "VLLM_SOAK_PROBE"
# `sockaddr_un.sun_path` holds 108 bytes on Linux and 104 elsewhere, its final zero included.
_LONGEST = 107 if sys.platform == "linux" else 103
PRIVATE = 0o700
_CREDENTIALS = struct.Struct("3i")  # Linux's struct ucred: pid, uid, gid


def probe_folder(default: str = "0") -> Path | None:
    """The folder that the environment asks for, made if need be; None when no probe is wanted.

    Args:
        default: What holds where the environment says nothing.

    Raises:
        OSError: The folder cannot be made.
        PermissionError: The default folder belongs to another user, or others may enter it.
    """
    wanted = os.environ.get(VARIABLE, default)
    if wanted in {"", "0"}:
        return None
    if wanted != "1":
        folder = Path(wanted).absolute()
        folder.mkdir(mode=PRIVATE, parents=True, exist_ok=True)
        return folder
    return _default_folder()


def socket_of(folder: Path, pid: int) -> Path:
    """The socket of a process's probe."""
    return folder / f"{pid}.sock"


@contextlib.contextmanager
def short_name(path: Path) -> Iterator[str]:
    """A name by which `bind` and `connect` accept the socket, however long its path is.

    Raises:
        OSError: The path is too long, and this system has no /proc to shorten it with.
    """
    if len(os.fsencode(path)) <= _LONGEST:
        yield str(path)
        return
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield f"/proc/self/fd/{folder}/{path.name}"
    finally:
        os.close(folder)


def make_private(path: Path) -> None:
    """Let only the user reach a socket; in a folder that others may write to, a link in its place is not followed.

    Raises:
        OSError: It is no longer the socket that was made, or its mode cannot be set.
    """
    if not hasattr(os, "O_PATH"):
        path.chmod(0o600)
        return
    found = os.open(path, os.O_PATH | os.O_NOFOLLOW)
    try:
        if not stat.S_ISSOCK(os.fstat(found).st_mode):
            raise PermissionError(f"{path} was replaced while it was made")
        Path(f"/proc/self/fd/{found}").chmod(0o600)
    finally:
        os.close(found)


def is_same_user(peer: socket.socket) -> bool:
    """Whether the other end runs as this user, or as root; true where the system cannot say."""
    option = getattr(socket, "SO_PEERCRED", None)
    if option is None:
        return True
    _, user, _ = _CREDENTIALS.unpack(peer.getsockopt(socket.SOL_SOCKET, option, _CREDENTIALS.size))
    return user in {os.geteuid(), 0}


def remove_stale(folder: Path) -> None:
    """Remove the sockets of processes that ended without removing theirs.

    A process that is not to be seen may live in another container that shares the folder: what answers stays.
    """
    for path in folder.glob("*.sock"):
        if path.stem.isdigit() and not _is_alive(int(path.stem)) and not is_open(path):
            with contextlib.suppress(OSError):
                path.unlink()


def is_open(path: Path) -> bool:
    """Whether somebody listens behind a socket."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as peer:
        peer.setblocking(False)
        try:
            with short_name(path) as name:
                peer.connect(name)
        except BlockingIOError:  # more callers wait than fit
            return True
        except OSError:
            return False
    return True


def default_folders(environment: Mapping[str, str], user: int) -> list[Path]:
    """Where a user's probe listens by default, given an environment: the first is the one that is used."""
    runtime, scratch = environment.get("XDG_RUNTIME_DIR"), environment.get("TMPDIR")
    in_runtime = [Path(runtime) / "vllm-soak"] if runtime else []
    return [*in_runtime, Path(scratch or tempfile.gettempdir()) / f"vllm-soak-{user}"]


def _default_folder() -> Path:
    folder = default_folders(os.environ, os.getuid())[0]
    folder.mkdir(mode=PRIVATE, exist_ok=True)
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o077:
        raise PermissionError(f"{folder} is not a folder that only this user can enter")
    return folder


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
