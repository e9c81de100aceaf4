# SPDX-License-Identifier: Apache-2.0
"""JSON objects, one a line, over two inherited pipe ends: the control channel, both sides."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from typing import Any

READ_SIZE = 1 << 16


class Closed(Exception):  # noqa: N818 - the other side's end of file is an event, not a fault
    """The other side has closed its end, or died."""


class Channel:
    """One side of the channel.

    Reads block without a time-out and without polling, so an idle engine stays quiet.

    Args:
        read_fd: Descriptor to read from; owned by the channel.
        write_fd: Descriptor to write to; owned by the channel.
    """

    def __init__(self, read_fd: int, write_fd: int) -> None:
        self._read_fd = read_fd
        self._write_fd = write_fd
        self._open = [read_fd, write_fd]
        self._rest = b""

    @property
    def read_fd(self) -> int:
        """The descriptor that becomes readable when a message arrives."""
        return self._read_fd

    @property
    def pending(self) -> bool:
        """Whether a whole message was read already."""
        return b"\n" in self._rest

    def send(self, message: dict[str, Any]) -> None:
        """Write one message.

        Raises:
            Closed: The other side no longer reads.
        """
        left = memoryview(json.dumps(message, separators=(",", ":")).encode() + b"\n")
        try:
            while left:
                left = left[os.write(self._write_fd, left) :]
        except OSError as reason:
            raise Closed(str(reason)) from reason

    def receive(self) -> dict[str, Any]:
        """Wait for one message.

        Raises:
            Closed: End of file, also in the middle of a message.
        """
        while not self.pending:
            self.fill()
        line, _, self._rest = self._rest.partition(b"\n")
        message: dict[str, Any] = json.loads(line)
        return message

    def fill(self) -> None:
        """Read what is there, waiting for at least one byte.

        Raises:
            Closed: End of file.
        """
        try:
            chunk = os.read(self._read_fd, READ_SIZE)
        except OSError as reason:
            raise Closed(str(reason)) from reason
        if not chunk:
            raise Closed("end of file")
        self._rest += chunk

    def close(self) -> None:
        """Close both ends; closing twice does nothing, from whichever thread."""
        self._read_fd = self._write_fd = -1
        with suppress(IndexError):
            while True:  # each descriptor is taken by one caller only: another file may have its number afterwards
                os.close(self._open.pop())
