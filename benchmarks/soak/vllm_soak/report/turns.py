# SPDX-License-Identifier: Apache-2.0
"""What an engine on mlx holds after each turn of a growing conversation: the table of the original report."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vllm_soak.report.printable import printable
from vllm_soak.report.table import Cell, Row, Table

if TYPE_CHECKING:
    from vllm_soak.store.record import Arm, RunData

HEAD = "turn"
MB = 1e6
ACTIVE = "mlx_active"
NAMES = {"ssm_arrays": "SSM arrays", "mtp_entries": "MTP entries", "prefix_entries": "prefix entries"}


def build_turns(run: RunData) -> Table:
    """A row for each turn, with megabytes over the idle engine for each arm; empty without such figures."""
    arms = [arm for arm in run.arms if rows_of(arm)]
    longest = max((len(rows_of(arm)) for arm in arms), default=0)
    rows = [Row(str(turn), [cell(rows_of(arm), turn) for arm in arms]) for turn in range(1, longest)]
    return Table([f"{printable(arm.name)}, MB over idle" for arm in arms], rows, HEAD)


def rows_of(arm: Arm) -> list[dict[str, float]]:
    """The figures of one arm: the idle engine, then a row for each turn."""
    found = arm.engine.get("turns")
    return found if isinstance(found, list) else []


def cell(rows: list[dict[str, float]], turn: int) -> Cell:
    """Memory and counts after one turn."""
    if turn >= len(rows):
        return Cell("")
    over = (rows[turn][ACTIVE] - rows[0][ACTIVE]) / MB
    counted = [f"{words} {rows[turn][name]:.0f}" for name, words in NAMES.items() if name in rows[turn]]
    return Cell(f"{over:+.3f}", ", ".join(counted), rows[0][ACTIVE], rows[turn][ACTIVE])
