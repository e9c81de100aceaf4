# SPDX-License-Identifier: Apache-2.0
"""memray's captures: one file for each window, read as ranked findings."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

from rivals.adapter import Adapter


class Captures(Adapter):
    """What both ways of running memray share: a capture can be read only when it is closed.

    Windows are larger than those of other tools: the list's buffer moves only every few hundred requests.
    """

    size = 600

    def __init__(self, folder: Path, pid: int | None = None) -> None:
        super().__init__(folder, pid)
        self.count = 0
        self.disk = 0

    @property
    def capture(self) -> Path:
        """The file of the window under way."""
        return self.folder / f"capture-{self.count}.bin"

    def opened(self) -> str:
        """Path of the next window's file."""
        self.count += 1
        return str(self.capture)

    def closed(self) -> None:
        """Note the size of the window's file."""
        self.disk = max(self.disk, self.capture.stat().st_size)

    def facts(self) -> dict[str, Any]:
        """The largest capture, in bytes."""
        return {"capture_bytes": self.disk}


def leaked(capture: Path) -> list[str]:
    """`file:line: bytes` of each line that allocated what is not freed, summed over stacks, the largest first."""
    memray: Any = importlib.import_module("memray")
    sizes: dict[str, int] = {}
    with memray.FileReader(str(capture)) as reader:
        for record in reader.get_leaked_allocation_records(merge_threads=True):
            stack = record.stack_trace(max_stacks=1)
            where = f"{stack[0][1]}:{stack[0][2]}" if stack else "(no Python frame)"
            sizes[where] = sizes.get(where, 0) + record.size
    return [f"{where}: {size} B" for where, size in sorted(sizes.items(), key=lambda pair: -pair[1])]
