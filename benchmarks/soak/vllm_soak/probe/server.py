# SPDX-License-Identifier: Apache-2.0
"""The probe: one daemon thread that answers over a Unix socket, and never raises into the engine."""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import socket
import threading
import time
from multiprocessing import util
from typing import TYPE_CHECKING

from vllm_soak.probe.address import is_same_user, make_private, probe_folder, remove_stale, short_name, socket_of
from vllm_soak.probe.commands import Commands, error

if TYPE_CHECKING:
    from pathlib import Path

# A request is a command with a few paths.
LONGEST_REQUEST = 64 * 1024
# How long a client may take for a request, from its first byte to its last, and to take an answer, in seconds.
PATIENCE = 10.0
# Requests on one connection, so that nobody keeps the probe to himself.
MOST_REQUESTS = 100


class Server:
    """One process's probe.

    Args:
        path: Where to listen; a file that is there is replaced.

    Raises:
        OSError: The socket cannot be made.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.pid = os.getpid()
        self._listener = _listen(path)
        self._client: socket.socket | None = None
        self._thread = threading.Thread(target=self._serve, name="vllm-soak-probe", daemon=True)
        self._commands = Commands(hidden=(self, self.__dict__, self._thread))

    def start(self) -> None:
        """Begin to answer."""
        self._thread.start()

    def close(self) -> None:
        """Stop listening; the socket's file is removed by the process that made it only."""
        with contextlib.suppress(OSError):
            self._listener.close()
        if os.getpid() == self.pid:
            with contextlib.suppress(OSError):
                self.path.unlink()
        elif self._client is not None:  # a fork's copy of a conversation that the parent has
            self._client.close()

    def _serve(self) -> None:
        while self._listener.fileno() >= 0:
            if not self._serve_next():
                time.sleep(0.05)

    def _serve_next(self) -> bool:
        try:
            client, _ = self._listener.accept()
            self._client = client
            with client:
                self._converse(client)
        except Exception:  # noqa: BLE001 - a client that misbehaves is dropped, and the engine lives on
            return False
        return True

    def _converse(self, client: socket.socket) -> None:
        """Answer one client's requests until it hangs up, takes too long or has asked enough."""
        if not is_same_user(client):
            return
        received = bytearray()
        for _ in range(MOST_REQUESTS):
            line = _next_line(client, received)
            if line:
                client.settimeout(PATIENCE)  # of `sendall`: for the whole answer
                client.sendall(self._reply(line))
            if not line.endswith(b"\n"):
                return

    def _reply(self, line: bytes) -> bytes:
        if len(line) > LONGEST_REQUEST:
            answer = error("the request is too long", f"keep it below {LONGEST_REQUEST} bytes")
        else:
            answer = self._commands.answer(_parsed(line))
        return json.dumps(answer).encode() + b"\n"


def arm(default: str = "0") -> Path | None:
    """Start this process's probe if `VLLM_SOAK_PROBE` asks for one, once; never raises.

    A forked child gets a socket of its own; a spawned one is armed by the plugin.

    Args:
        default: What holds where that variable is not set.

    Returns:
        The socket, or None when no probe is wanted or none could be started.
    """
    with contextlib.suppress(Exception):
        if _armed and _armed[0].pid == os.getpid():
            return _armed[0].path
        return _start(default)
    return None


def disarm() -> None:
    """Stop this process's probe and remove its socket."""
    while _armed:
        _armed.pop().close()


_armed: list[Server] = []


def _start(default: str) -> Path | None:
    folder = probe_folder(default)
    if folder is None:
        return None
    remove_stale(folder)
    server = Server(socket_of(folder, os.getpid()))
    _armed[:] = [server]
    server.start()
    _register_once()
    return server.path


def _listen(path: Path) -> socket.socket:
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        with contextlib.suppress(FileNotFoundError):
            path.unlink()
        with short_name(path) as name:
            listener.bind(name)
        make_private(path)  # before listen(): nobody can have connected yet
        listener.listen(8)
    except OSError:
        listener.close()
        raise
    return listener


def _next_line(client: socket.socket, received: bytearray) -> bytes:
    """A client's next line with its end; without one where it hung up, or where the line is too long.

    Args:
        client: The connection.
        received: Bytes beyond the lines so far.

    Raises:
        TimeoutError: The line was not there in time, however steadily it came.
    """
    until = time.monotonic() + PATIENCE
    while b"\n" not in received and len(received) <= LONGEST_REQUEST:
        client.settimeout(max(0.001, until - time.monotonic()))
        more = client.recv(LONGEST_REQUEST)
        if not more:
            break
        received += more
    end = received.find(b"\n") + 1 or len(received)
    line = bytes(received[:end])
    del received[:end]
    return line[: LONGEST_REQUEST + 1]


def _parsed(line: bytes) -> object:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None


def _rearm() -> None:
    """In a forked child: the parent's thread is not here, its socket is."""
    with contextlib.suppress(Exception):
        if _armed:
            folder = _armed[0].path.parent
            disarm()
            _start(str(folder))


_registered: list[bool] = []


def _register_once() -> None:
    if not _registered:
        _registered.append(True)
        atexit.register(disarm)
        os.register_at_fork(after_in_child=_rearm)
        # A forked child of multiprocessing leaves by `os._exit`, which runs its finalizers only.
        util.register_after_fork(Server, lambda _cls: util.Finalize(None, disarm, exitpriority=0))
