# SPDX-License-Identifier: Apache-2.0
"""What a run is doing right now: a live bar on a terminal, a few plain lines elsewhere."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Self

from rich.progress import BarColumn, TaskID, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bar
from rich.text import Text

from vllm_soak.report.number import count, duration
from vllm_soak.report.printable import plain_ascii, printable

if TYPE_CHECKING:
    from types import TracebackType

    from rich.console import Console

QUIET_SECONDS = 5.0
# Of a long phase a line comes ever less often: a round of half an hour has some forty.
QUIET_SHARE = 0.1
# Columns of a terminal below which the bar is short, so that the phase and its counts have room.
NARROW, SHORT_BAR, LONG_BAR = 100, 10, 24


class Progress:
    """Show phases, how far along they are, and notes.

    Use it as a context manager, or call `close()`, so that the terminal is left as it was.

    Args:
        console: Where to show it; not a terminal means plain lines.
        quiet_seconds: Least time between two plain lines about the same phase.
    """

    def __init__(self, console: Console, quiet_seconds: float = QUIET_SECONDS) -> None:
        self.console = console
        self.quiet_seconds = quiet_seconds
        self.title = ""
        self.began = self.last_line = time.monotonic()
        self.bar: Bar | None = None
        self.task: TaskID | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def phase(self, text: str) -> None:
        """Begin a phase, for example `unpatched: round 2 of 5`."""
        self.title = printable(text, 200)
        self.began = self.last_line = time.monotonic()
        if not self.console.is_terminal:
            self.line(self.title)
            return
        self.start_bar()

    def start_bar(self) -> None:
        """Replace the bar's task by one of the new phase."""
        if self.bar is None:
            self.bar = make_bar(self.console)
            self.bar.start()
        if self.task is not None:
            self.bar.remove_task(self.task)
        self.task = self.bar.add_task(self.title, total=None, counts="")

    def advance(self, done: float, total: float | None) -> None:
        """Say how much of the phase is done; `total` is None while it is not known."""
        counts = f"{count(done)}/{count(total)}" if total else count(done)
        if self.bar is not None and self.task is not None:
            self.bar.update(self.task, completed=done, total=total or None, counts=counts)
            return
        now = time.monotonic()
        quiet = max(self.quiet_seconds, QUIET_SHARE * (now - self.began))
        if not self.console.is_terminal and now - self.last_line >= quiet:
            self.last_line = now
            self.line(f"{self.title}: {counts} after {duration(now - self.began)}")

    def note(self, text: str) -> None:
        """Say something that stays: a warning, a finding on the way."""
        self.line(printable(text))

    def line(self, text: str) -> None:
        """Print one plain line, above the bar where there is one."""
        shown = plain_ascii(text) if self.console.options.ascii_only else text
        self.console.print(Text(shown), soft_wrap=True)

    def close(self) -> None:
        """Remove the bar."""
        if self.bar is not None:
            self.bar.stop()
        self.bar = self.task = None


def make_bar(console: Console) -> Bar:
    """A bar between its phase and its counts."""
    width = SHORT_BAR if console.width < NARROW else LONG_BAR
    columns = (TextColumn("{task.description}", markup=False), BarColumn(bar_width=width))
    counts = (TextColumn("{task.fields[counts]}", markup=False), TimeElapsedColumn())
    return Bar(*columns, *counts, console=console, transient=True)
