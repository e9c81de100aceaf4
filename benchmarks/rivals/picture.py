# SPDX-License-Identifier: Apache-2.0
"""The rows as one picture: what a tool costs while it is on, how long it stops the engine, and what it names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rivals.evidence import LINE_NAMED, NOTHING, PATH_NAMED

# Of the Okabe-Ito palette, with a shape each: colour is not the only sign.
MARKS = {PATH_NAMED: ("#009e73", "o"), LINE_NAMED: ("#0072b2", "s"), NOTHING: ("#d55e00", "x")}
LEAST_STOP = 1e-4


def draw(rows: list[dict[str, Any]], path: Path, title: str) -> Path:
    """Write the picture of all rows that have both figures."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(9, 5.5))
    for row in rows:
        if row["separable"] and row["throughput"] and stop_of(row) is not None and row["full"]:
            mark(axes, row)
    for what, (colour, shape) in MARKS.items():
        axes.plot([], [], shape, color=colour, label=f"names {what if what == NOTHING else 'the ' + what}")
    axes.set(
        xscale="log", xlabel="longest stop of the engine, CPU seconds; beside load, seconds between steps", title=title
    )
    axes.set(ylabel="throughput with the tool on / off", ylim=(0, 1.3), xlim=(LEAST_STOP / 2, 30))
    axes.legend(loc="lower left")
    figure.savefig(path, dpi=120, bbox_inches="tight")
    plt.close(figure)
    return path


def stop_of(row: dict[str, Any]) -> float | None:
    """The longest stop, or the longest time between two steps of what works beside the engine."""
    if row.get("gap") is not None:
        return float(row["gap"])
    return None if row["stop"] is None else float(row["stop"]["cpu"])


def mark(axes: Any, row: dict[str, Any]) -> None:
    """One tool."""
    colour, shape = MARKS[row["full"]["named"]]
    speed, at = row["throughput"][row["unit"]], max(stop_of(row) or 0.0, LEAST_STOP)
    axes.vlines(at, speed["low"], speed["high"], color=colour, lw=1)
    axes.plot([at], [speed["median"]], shape, color=colour, ms=9 if row["ours"] else 6)
    axes.annotate(
        row["title"], (at, speed["median"]), rotation=25, fontsize=8, xytext=(4, 4), textcoords="offset points"
    )
