# SPDX-License-Identifier: Apache-2.0
"""The rows as Markdown."""

from __future__ import annotations

from typing import Any

HEAD = (
    "tool",
    "names it (rank), cache full",
    "cache filling",
    "requests until conclusive",
    "throughput on/off",
    "A/A control",
    "while it reads",
    "longest stop",
    "extra memory",
    "EngineCore child",
)

# Seconds; less is lost in a batch.
NOTICEABLE = 0.001
UNKNOWN = "not separable"


def markdown(rows: list[dict[str, Any]]) -> str:
    """The whole table."""
    lines = [HEAD, ["---"] * len(HEAD), *(cells(row) for row in rows)]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def cells(row: dict[str, Any]) -> list[str]:
    """One row's words."""
    if not row["full"] and not row["filling"]:
        return [row["title"], f"failed: {failure(row)}", *["-"] * (len(HEAD) - 2)]
    return [
        f"**{row['title']}**" if row["ours"] else row["title"],
        name_text(row["full"]),
        name_text(row["filling"]),
        requests_text(row["full"]),
        ratio_text(row["throughput"], row["unit"]) if row["separable"] else UNKNOWN,
        ratio_text(row["control"], row["unit"]),
        reading_text(row),
        stop_text(row),
        bytes_text(row["extra_bytes"]),
        row["child"],
    ]


def failure(row: dict[str, Any]) -> str:
    """Why there is nothing to show, on one line."""
    reasons = "; ".join(f"{phase}: {reason}" for phase, reason in row["failures"].items())
    return " ".join(reasons.replace("|", "/").split())[:200] or "no result"


def name_text(found: dict[str, Any] | None) -> str:
    """What was named, and the ranks it had at best and in the last reading."""
    if found is None:
        return "-"
    if found["best"] is None:
        return "nothing"
    last = found["ranks"][-1]
    missing = sum(rank is None for rank in found["ranks"])
    absent = f", absent from {missing} of {len(found['ranks'])} readings" if missing and "leaks" not in found else ""
    return f"{found['named']} (best {found['best']}, last {last or 'absent'}{absent})"


def requests_text(found: dict[str, Any] | None) -> str:
    """When the answer was there."""
    if found is None:
        return "-"
    return f"{found['conclusive']:,}" if found["conclusive"] else f"not in {found['requests']:,}"


def ratio_text(found: dict[str, Any] | None, unit: str) -> str:
    """A ratio with its interval."""
    if found is None:
        return "-"
    one = found[unit]
    return f"{one['median']:.2f} [{one['low']:.2f}-{one['high']:.2f}]"


def reading_text(row: dict[str, Any]) -> str:
    """Throughput while the tool reads; of one that works on the engine's thread, whether the engine serves at all."""
    if row["beside"]:
        return ratio_text(row["beside"], row["unit"]) if row["separable"] else UNKNOWN
    stop = row["stop"]
    if stop is None and row["failures"]:
        return f"failed: {failure(row)}"
    return "-" if stop is None else "stopped" if stop["cpu"] > NOTICEABLE else "serves"


def stop_text(row: dict[str, Any]) -> str:
    """The longest stop in CPU seconds; for what works beside the engine the longest time between two steps."""
    if row.get("gap") is not None:
        whole = f"; whole, at rest: {seconds_text(row['reading'])}" if row.get("reading") else ""
        return f"{seconds_text(row['gap'])} between steps (without: {seconds_text(row['gap_control'])}){whole}"
    return "-" if row["stop"] is None else seconds_text(row["stop"]["cpu"])


def seconds_text(seconds: float) -> str:
    """Seconds or milliseconds."""
    return f"{seconds:.1f} s" if seconds >= 1 else f"{seconds * 1000:.0f} ms" if seconds >= 0.001 else "< 1 ms"


def bytes_text(size: float | None) -> str:
    """Mebibytes."""
    return "-" if size is None else f"{size / 2**20:.0f} MiB"
