# SPDX-License-Identifier: Apache-2.0
"""Contestants taking turns, as rows."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator
from typing import Any

from zero_blocks.case import CEILING, LOOP, OURS, Call, Case

KIB = 1024
Timer = Callable[[Call, int], tuple[float, float]]  # seconds of a call, and of that on the host
Times = dict[str, list[tuple[float, float]]]


def measure(
    case: Case, caches: str, contestants: dict[str, Call], timer: Timer, rounds: int, repeats: int
) -> Iterator[dict[str, Any]]:
    """Let contestants take turns; a row for each, marked with the state of the caches."""
    times = _times(contestants, timer, rounds, repeats)
    for name in times:
        yield {
            "page": case.page,
            "blocks": case.blocks,
            "segments": case.segments,
            "bytes": case.bytes,
            "caches": caches,
            "contestant": name,
            **_figures(times, name, case.bytes),
        }


def _times(contestants: dict[str, Call], timer: Timer, rounds: int, repeats: int) -> Times:
    for call in contestants.values():
        call()  # compiles, and warms up
    times: Times = {name: [] for name in contestants}
    names = list(contestants)
    for first in range(rounds):
        for at in range(len(names)):  # nobody always follows the same one
            name = names[(first + at) % len(names)]
            times[name].append(timer(contestants[name], repeats))
    return times


def _figures(times: Times, name: str, size: int) -> dict[str, float]:
    best = {one: min(pair[0] for pair in pairs) for one, pairs in times.items()}
    seconds = statistics.median(pair[0] for pair in times[name])
    return {
        "seconds": seconds,
        "best_seconds": best[name],
        "gb_per_s": size / seconds / 1e9,
        "share_of_memset": _ratio(times, CEILING, name),
        "times_of_zero_blocks": _ratio(times, name, OURS),
        "best_share_of_memset": best[CEILING] / best[name],
        "best_times_of_zero_blocks": best[name] / best[OURS],
        "host_us": statistics.median(pair[1] for pair in times[name]) * 1e6,
    }


def _ratio(times: Times, one: str, other: str) -> float:
    """Median of one's seconds over the other's, in the same rounds."""
    return statistics.median(a[0] / b[0] for a, b in zip(times[one], times[other], strict=True))


def print_rows(rows: list[dict[str, Any]]) -> None:
    """One case as a small table."""
    first = rows[0]
    print(f"{first['segments']} segments, {first['blocks']} blocks of {first['page'] // KIB} KiB, {first['caches']}")
    for row in rows:
        print(
            f"  {row['contestant']:<12} {row['seconds'] * 1e6:>10.1f} us {row['gb_per_s']:>8.1f} GB/s "
            f"{row['share_of_memset']:>6.0%} of memset (best {row['best_share_of_memset']:.0%}) "
            f"{row['times_of_zero_blocks']:>7.2f} x our time (best {row['best_times_of_zero_blocks']:.2f}) "
            f"{row['host_us']:>8.1f} us on the host"
        )
    loop = next((row for row in rows if row["contestant"] == LOOP), None)
    if loop:
        print(f"  The loop takes {1 / loop['share_of_memset']:.1f} x memset's time: about as much as there is to gain.")
