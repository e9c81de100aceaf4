# SPDX-License-Identifier: Apache-2.0
"""Resident and swapped memory of this process, from Linux's /proc."""

from __future__ import annotations

from pathlib import Path

_STATUS = {"VmRSS": "rss", "RssAnon": "rss_anon", "VmSwap": "swap", "VmHWM": "hwm"}
_ROLLUP = {"Pss": "pss", "Private_Clean": "private_clean", "Private_Dirty": "private_dirty"}


def memory() -> dict[str, float]:
    """`rss`, `rss_anon`, `swap`, `hwm`, `pss` and `uss` in bytes."""
    values = read_fields(Path("/proc/self/status"), _STATUS)
    rollup = read_fields(Path("/proc/self/smaps_rollup"), _ROLLUP)
    private = [rollup.pop(name) for name in ("private_clean", "private_dirty") if name in rollup]
    if len(private) == 2:
        rollup["uss"] = sum(private)
    return {**values, **rollup}


def in_use() -> float | None:
    """Anonymous memory, resident or swapped, in bytes: what a leak grows, wherever the kernel keeps it."""
    values = read_fields(Path("/proc/self/status"), _STATUS)
    if "rss_anon" not in values:
        return None
    return values["rss_anon"] + values.get("swap", 0.0)


def read_fields(file: Path, wanted: dict[str, str]) -> dict[str, float]:
    """Lines `Name:   123 kB` of a file, as bytes under the names wanted; empty where there is no such file."""
    try:
        lines = file.read_text().splitlines()
    except OSError:
        return {}
    fields = (line.split() for line in lines)
    return {
        wanted[parts[0][:-1]]: 1024.0 * int(parts[1])
        for parts in fields
        if len(parts) == 3 and parts[2] == "kB" and parts[0][:-1] in wanted
    }
