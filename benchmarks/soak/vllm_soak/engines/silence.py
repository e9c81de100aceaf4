# SPDX-License-Identifier: Apache-2.0
"""How long an engine that says nothing is waited for, and what is said meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

OnSilence = Callable[[float], None]


@dataclass(frozen=True, slots=True)
class Patience:
    """Seconds without any message after which an engine counts as stalled.

    A load reports with every step of the engine, so even one very long request is not silent; a start is,
    while weights are read and kernels compiled.

    Args:
        start: While the engine is built.
        load: While requests run.
        stop: Until it acknowledges that it shall stop.
        note: Until the first note about a silent load; the next ones follow after twice, four times, ... as long.
    """

    start: float = 1800.0
    load: float = 900.0
    stop: float = 20.0
    note: float = 60.0

    def limit(self, command: str) -> float:
        """The limit of a command; that of a load for one which is not known."""
        return {"start": self.start, "stop": self.stop}.get(command, self.load)


class Stalled(Exception):  # noqa: N818 - becomes an EngineError once the engine's state is known
    """The limit is reached.

    Args:
        seconds: Length of the silence.
    """

    def __init__(self, seconds: float) -> None:
        super().__init__(f"no message for {seconds:g} s")
        self.seconds = seconds


@dataclass(slots=True)
class Silence:
    """Adds up waits in vain since the last message.

    Waits are added instead of reading a clock, so that a controller which was suspended itself does not take
    its own sleep for the engine's.

    Args:
        limit: Seconds after which the engine is stalled.
        note: Seconds after which `on_silence` is called first.
        on_silence: Takes the seconds so far.
    """

    limit: float
    note: float
    on_silence: OnSilence | None = None
    seconds: float = field(default=0.0, init=False)
    _next_note: float = field(default=0.0, init=False)

    def heard(self) -> None:
        """A message has come: the silence begins anew."""
        self.seconds = 0.0
        self._next_note = 0.0

    def waited(self, seconds: float) -> None:
        """Add a wait in vain.

        Raises:
            Stalled: The limit is reached.
        """
        self.seconds += seconds
        if self.seconds >= self.limit:
            raise Stalled(self.seconds)
        if self.on_silence is not None and self.seconds >= max(self._next_note, self.note):
            self._next_note = 2 * self.seconds
            self.on_silence(self.seconds)
