# SPDX-License-Identifier: Apache-2.0
"""The rows as Markdown."""

from __future__ import annotations

from corpus.row import Row

HEAD = ("case", "release", "expected", "verdict", "path", "per request", "path matched", "right")


def markdown(rows: list[Row]) -> str:
    """The whole table."""
    lines = [HEAD, tuple("---" for _ in HEAD), *(cells(row) for row in rows)]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def cells(row: Row) -> tuple[str, ...]:
    """One row's words."""
    return (
        row.case,
        row.release,
        row.expected,
        row.outcome,
        f"`{row.path}`" if row.path else "",
        "" if row.per_request is None else f"{row.per_request:g}",
        {True: "yes", False: "**no**", None: ""}[row.matched],
        "yes" if row.right else "**no**",
    )
