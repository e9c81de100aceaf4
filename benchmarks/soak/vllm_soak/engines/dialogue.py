# SPDX-License-Identifier: Apache-2.0
"""Commands to a process and their answers, one at a time over one channel."""

from __future__ import annotations

import select
from collections.abc import Callable, Mapping
from typing import Any

from vllm_soak.engines.channel import Channel, Closed
from vllm_soak.engines.silence import Silence

# How often a silent process is looked at; an answer or an end of file wakes at once.
LOOK_SECONDS = 1.0

Progress = Callable[[int, int], None]
OnEvent = Callable[[dict[str, Any]], None]


class Dialogue:
    """This side of a control channel.

    Args:
        channel: The channel.
        lives: Whether the process at the other end is there.

    Attributes:
        waiting: Whether a command was sent that has not been answered.
    """

    def __init__(self, channel: Channel, lives: Callable[[], bool]) -> None:
        self.channel = channel
        self.lives = lives
        self.waiting = False
        self._next_id = 0

    def ask(
        self,
        command: str,
        arguments: Mapping[str, Any],
        silence: Silence,
        on_progress: Progress | None = None,
        on_event: OnEvent | None = None,
    ) -> dict[str, Any]:
        """Send one command and wait for its answer, whatever it says.

        Raises:
            Closed: The process ended.
            Stalled: It was silent for too long.
        """
        self._next_id += 1
        self.waiting = True
        self.channel.send({"id": self._next_id, "command": command, **arguments})
        while True:
            self._fill(silence)
            message = self.channel.receive()
            if message.get("event") == "progress" and on_progress is not None:
                on_progress(message["done"], message["total"])
            elif "event" in message and on_event is not None:
                on_event(message)
            elif message.get("id") == self._next_id and "event" not in message:
                self.waiting = False
                return message

    def close(self) -> None:
        """Close the channel."""
        self.channel.close()

    def _fill(self, silence: Silence) -> None:
        """Wait for a whole message; a child of a dead process may hold the pipe open, so look at the process too."""
        while not self.channel.pending:
            if self._is_readable():
                silence.heard()
                self.channel.fill()
            elif not self.lives():
                raise Closed("the host process ended")
            else:
                silence.waited(LOOK_SECONDS)

    def _is_readable(self) -> bool:
        """Whether something came within one look."""
        try:
            return bool(select.select([self.channel.read_fd], [], [], LOOK_SECONDS)[0])
        except (OSError, ValueError) as reason:
            if self.channel.read_fd >= 0:
                raise
            raise Closed("another thread has closed the channel") from reason
