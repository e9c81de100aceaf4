# SPDX-License-Identifier: Apache-2.0
"""A port of the loopback interface that nobody listens on."""

from __future__ import annotations

import socket

LOOPBACK = "127.0.0.1"


def free_port() -> int:
    """A free port; another program may take it before the server does, which the server's log then says."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.bind((LOOPBACK, 0))
        return int(probe.getsockname()[1])
