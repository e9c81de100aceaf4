# SPDX-License-Identifier: Apache-2.0
"""What a tool's output says about the leak, decided by code: the attribute path, the line, or nothing."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

SOURCE = "single_type_kv_cache_manager.py"
MODULE = "vllm.v1.core.single_type_kv_cache_manager"
# However a tool spells it: `.single_type_managers[0].new_block_ids`, `['single_type_managers'][0]...['new_block_ids']`.
PATH = re.compile(r"single_type_managers\b.*\bnew_block_ids\b")
GROWS = re.compile(r"new_block_ids\s*(\.extend\(|\.append\(|\+=)")
PATH_NAMED, LINE_NAMED, NOTHING = "path", "line", "nothing"
# Ranked first so many readings in a row: then a reader of the output has an answer.
IN_A_ROW = 3


@dataclass
class Reading:
    """What a tool shows at one moment.

    Args:
        lines: Its findings as it words them, the most suspicious first.
        stop: Seconds that the engine stood still for it, where the adapter knows better than the session.
    """

    lines: list[str] = field(default_factory=list)
    stop: dict[str, float] | None = None


def leaking_lines() -> list[int]:
    """The lines of the engine's source that make the list longer."""
    spec = importlib.util.find_spec(MODULE)
    assert spec is not None
    assert spec.origin is not None
    return growing_lines(Path(spec.origin).read_text(encoding="utf-8"))


def growing_lines(source: str) -> list[int]:
    """Line numbers at which a source text adds to the list."""
    return [number for number, line in enumerate(source.splitlines(), 1) if GROWS.search(line)]


def named(text: str, lines: Sequence[int]) -> str:
    """What one finding names.

    A source line that quotes the attribute's name is still a line.
    """
    found = re.search(re.escape(SOURCE) + r"\D{1,10}(\d+)", text)
    if found:
        return LINE_NAMED if int(found[1]) in lines else NOTHING
    return PATH_NAMED if PATH.search(text) else NOTHING


def place(findings: Iterable[str], lines: Sequence[int]) -> tuple[str, int | None]:
    """What is named by the best-ranked finding that names anything, and its rank from 1."""
    for rank, text in enumerate(findings, 1):
        what = named(text, lines)
        if what != NOTHING:
            return what, rank
    return NOTHING, None


def conclusive(readings: Sequence[dict[str, Any]]) -> int | None:
    """Requests after which the leak had been ranked first in three readings in a row; None when it never was."""
    streak = 0
    for reading in readings:
        streak = streak + 1 if reading["rank"] == 1 else 0
        if streak == IN_A_ROW:
            return int(reading["requests"])
    return None


def best(readings: Sequence[dict[str, Any]]) -> str:
    """The most that any reading named."""
    said = {reading["named"] for reading in readings}
    return next((what for what in (PATH_NAMED, LINE_NAMED) if what in said), NOTHING)
