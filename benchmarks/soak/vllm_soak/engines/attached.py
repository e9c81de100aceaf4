# SPDX-License-Identifier: Apache-2.0
"""A server that somebody else runs: found by its address, looked at, never changed."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psutil

from vllm_soak.engines.serve.health import Health
from vllm_soak.environments.releases import ENGINES
from vllm_soak.errors import UsageError
from vllm_soak.locate.socket_of_pid import find_socket
from vllm_soak.observe.role import API_SERVER, role_of

HOW = "give its --pid, and run this on the server's own machine as its user or as root"


@dataclass(frozen=True, slots=True)
class Attached:
    """One running server.

    Args:
        health: Where it listens.
        pid: The topmost of its processes.
    """

    health: Health
    pid: int

    def socket(self, pid: int) -> Path | None:
        """Socket of the probe of one of its processes, or None where none is armed."""
        with suppress(UsageError):
            return find_socket(pid)
        # A process with a title of its own (`VLLM::EngineCore`) may have overwritten its environment.
        with suppress(UsageError):
            beside = find_socket(self.pid).with_name(f"{pid}.sock")
            return beside if beside.is_socket() else None
        return None

    def lives(self) -> bool:
        """Whether its topmost process is there."""
        with suppress(psutil.Error):
            return psutil.Process(self.pid).status() != psutil.STATUS_ZOMBIE
        return False


def attach_to(url: str, pid: int | None) -> Attached:
    """Find a server.

    Args:
        url: Its address; nobody else is asked for anything.
        pid: Its process; None looks for who listens there on this machine.

    Raises:
        UsageError: It is no address, nobody answers there, or the process is not to be found.
    """
    health = health_of(url)
    if not (health.is_up() or health.version() or health.model()):
        raise UsageError(f"no server answers at {health.url}", "check the address, and that the server is up")
    if pid is None and is_here(health.host):
        pid = listener(health.port)
    if pid is None:
        raise UsageError(f"no process of this machine can be seen to listen at {health.url}", HOW)
    if not psutil.pid_exists(pid):
        raise UsageError(f"there is no process {pid}", "give the pid of the server, or leave out --pid")
    return Attached(health, topmost(pid))


def health_of(url: str) -> Health:
    """Host and port of an address: `http://127.0.0.1:8000`, `localhost:8000`.

    Raises:
        UsageError: It is none, or asks for encryption.
    """
    try:
        parts = urlsplit(url if "://" in url else f"http://{url}")
        host, port = parts.hostname, parts.port
        (host or "").encode("idna")  # as it is asked for: no empty label, none that is too long
    except ValueError:
        host, port, parts = None, None, urlsplit("")
    if not host or parts.scheme != "http":
        raise UsageError(f"--url {url!r} is not an address", "give it like http://127.0.0.1:8000")
    return Health(host, port or 80)


def is_here(host: str) -> bool:
    """Whether an address is one of this machine: who listens on the same port here is not the server otherwise."""
    own = {one.address.partition("%")[0] for found in psutil.net_if_addrs().values() for one in found}
    with suppress(OSError, ValueError):
        reached = {str(one[4][0]).partition("%")[0] for one in socket.getaddrinfo(host, None)}
        kinds = [ip_address(one) for one in reached]
        return bool(reached & own) or any(one.is_loopback or one.is_unspecified for one in kinds)
    return False


def listener(port: int) -> int | None:
    """Pid of the process that listens on a port of this machine; the oldest of several, None when not to be seen."""
    try:
        open_sockets = psutil.net_connections("tcp")
    except (psutil.Error, OSError):
        return None
    listening = (one for one in open_sockets if one.status == psutil.CONN_LISTEN)
    return min((one.pid for one in listening if one.pid is not None and port in tuple(one.laddr)[1:2]), default=None)


def engine_name(served: Mapping[str, Any]) -> str:
    """Name of the engine by whom it says that a model is owned, in the answer of `/v1/models`."""
    owner = served.get("owned_by")
    return str(owner) if owner in ENGINES else "vllm"


def topmost(pid: int) -> int:
    """The API server above a process: with several of them, one process starts the others."""
    with suppress(psutil.Error):
        for parent in psutil.Process(pid).parents():
            if role_of(parent.pid) != API_SERVER:
                break
            pid = parent.pid
    return pid
