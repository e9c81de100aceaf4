# SPDX-License-Identifier: Apache-2.0
"""Where the commands print."""

from __future__ import annotations

import os
from typing import Any

from rich.console import Console


class Terminal(Console):
    """A console that may fail without changing the exit code: its reader leaves, as `head` does, or its disk is full.

    Attributes:
        lost: Why the rest of the output was thrown away, or an empty string.
    """

    lost = ""

    def on_broken_pipe(self) -> None:
        """Throw away the rest of the output: the answer is the exit code."""
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)

    def print(self, *objects: Any, **options: Any) -> None:
        """Print as rich does, and go on in silence when that fails."""
        try:
            super().print(*objects, **options)
        except OSError as error:
            self.lost = (error.strerror or str(error)).lower()
            self.on_broken_pipe()


console = Terminal()
errors = Console(stderr=True)


def show(text: str) -> None:
    """Print a line as it is: no markup, no wrapping inside paths."""
    console.print(text, soft_wrap=True, highlight=False, markup=False)
