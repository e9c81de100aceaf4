# SPDX-License-Identifier: Apache-2.0
"""memray's capture file as ranked findings: what was allocated in it and not freed, the largest first."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any


def leaked(capture: Path) -> list[str]:
    """`file:line: bytes` of each allocating line, summed over stacks."""
    memray: Any = importlib.import_module("memray")
    sizes: dict[str, int] = {}
    with memray.FileReader(str(capture)) as reader:
        for record in reader.get_leaked_allocation_records(merge_threads=True):
            stack = record.stack_trace(max_stacks=1)
            where = f"{stack[0][1]}:{stack[0][2]}" if stack else "(no Python frame)"
            sizes[where] = sizes.get(where, 0) + record.size
    return [f"{where}: {size} B" for where, size in sorted(sizes.items(), key=lambda pair: -pair[1])]
