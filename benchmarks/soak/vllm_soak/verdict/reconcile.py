# SPDX-License-Identifier: Apache-2.0
"""Where the growth in bytes went: named containers, cyclic garbage, the allocator, or unknown."""

from __future__ import annotations

import heapq
from bisect import bisect_right
from collections import Counter
from operator import itemgetter
from typing import TYPE_CHECKING

from vllm_soak.store.record import MEASURED
from vllm_soak.verdict.defects import known_ring
from vllm_soak.verdict.finding import Finding
from vllm_soak.verdict.outcome import Cycle, Outcome, Reconciliation
from vllm_soak.verdict.series import samples_by_round

if TYPE_CHECKING:
    from vllm_soak.store.record import Arm, Sample
    from vllm_soak.verdict.outcome import Suspect
    from vllm_soak.verdict.series import Series
    from vllm_soak.verdict.suspects import Judged

# What a settle gives back after every round is worth a word when it is at least this much.
FLOOR_BYTES = 1 << 20
# An allocator keeps some free memory at all times, and a census leaves some behind (7 % of a small
# engine at most in our own runs); only beyond this share of what is in use ...
FLOOR_SHARE = 0.1
# ... and garbage only when each request leaves some behind, whatever the size of the process.
FLOOR_PER_REQUEST = 256.0
MOST_CYCLES = 5


def named_bytes(judged: list[Judged], series: Series) -> list[float]:
    """Return what named containers had grown by at each point of the byte series."""
    outer = [one for one in judged if not _inside_another(one[0], judged)]
    return [sum(_grown(found, lengths, x) for found, _, lengths in outer) for x in series.requests]


def reconcile(
    arm: Arm, process: str, series: Series, named: list[float], basis: str = "in use"
) -> Reconciliation | None:
    """Return the account of the growth over the measured rounds, or None without two points.

    Args:
        arm: The arm.
        process: The process.
        series: Bytes over the judged rounds.
        named: What named containers had grown by at each point of `series`.
        basis: What the bytes are: `in use` (resident) or `allocated`.
    """
    if len(series.values) < 2:
        return None
    samples = measured_samples(arm, process)
    growth, by_name = series.total, named[-1] - named[0]
    return Reconciliation(
        growth=growth,
        named=by_name,
        gc_freed=_sum(samples, "gc_freed"),
        trim_returned=_sum(samples, "trim_returned"),
        unattributed=growth - by_name,
        basis=basis,
    )


def measured_samples(arm: Arm, process: str) -> list[Sample]:
    """Return a process' sample after each measured round."""
    samples = samples_by_round(arm, process).values()
    return sorted((s for s in samples if s.phase == MEASURED), key=lambda s: s.requests)


def cycles(samples: list[Sample], series: Series) -> list[Cycle]:
    """Return the rings of objects that the collections freed, the most frequent first."""
    counts: Counter[str] = Counter()
    for row in (row for sample in samples for row in sample.garbage):
        counts[str(row["ring"])] += int(row["count"])
    # `Counter.most_common` would load `heapq` in the middle of the user's work, and it would be taken for the work's.
    most = heapq.nlargest(MOST_CYCLES, counts.items(), key=itemgetter(1))
    return [Cycle(ring, count, count / max(series.work, 1)) for ring, count in most]


def gc_deferred(samples: list[Sample], series: Series) -> Finding | None:
    """Every round left garbage that a collection freed, more than what stayed."""
    # A collection also clears the interpreter's free lists: memory falls without any garbage.
    if any(s.values.get("gc_objects") == 0 for s in samples):
        return None
    floor = max(FLOOR_BYTES, FLOOR_PER_REQUEST * series.work / max(len(series.growth), 1))
    freed = _significant(samples, "gc_freed", floor, series.total)
    if freed is None:
        return None
    each = freed / max(series.work, 1)
    first = next((_told(one) for one in cycles(samples, series)), "")
    return Finding(
        Outcome.GC_DEFERRED,
        "collection-frees",
        f"each round left garbage that only a collection frees, {each:,.0f} bytes a request{first}",
    )


def _told(cycle: Cycle) -> str:
    defect = known_ring(cycle.ring)
    known = f"; known defect: {defect.name} (seen on {defect.affected}), {defect.workaround}" if defect else ""
    return f": {cycle.ring} ({cycle.per_request:,.3g} a request){known}"


def fragmentation(samples: list[Sample], series: Series) -> Finding | None:
    """Every round left free memory that the allocator kept until it was trimmed."""
    floor = max(FLOOR_BYTES, FLOOR_SHARE * max(series.values, default=0.0))
    returned = _significant(samples, "trim_returned", floor, series.total)
    if returned is None:
        return None
    return Finding(
        Outcome.FRAGMENTATION,
        "trim-returns",
        "nothing kept growing without a limit; of what each round had freed, the allocator held "
        f"{returned / len(samples):,.0f} bytes until a trim returned them",
    )


def _significant(samples: list[Sample], name: str, floor: float, stayed: float) -> float | None:
    """Return the sum over the rounds when each reached the floor and the sum exceeds what stayed."""
    values = [s.values[name] for s in samples if name in s.values]
    every = bool(values) and len(values) == len(samples) and min(values) >= floor
    return sum(values) if every and sum(values) >= stayed else None


def _sum(samples: list[Sample], name: str) -> float:
    return float(sum(s.values.get(name, 0.0) for s in samples))


def _grown(found: Suspect, lengths: Series, requests: int) -> float:
    """Return a container's bytes beyond its first point, at the census of `requests` or before."""
    at = bisect_right(lengths.requests, requests) - 1
    return (lengths.values[max(at, 0)] - lengths.values[0]) * found.bytes_per_entry


def _inside_another(found: Suspect, judged: list[Judged]) -> bool:
    """Whether another suspect's entries already hold this container, and its bytes."""
    return any(
        found.path != other.path and found.path.startswith((f"{other.path}.", f"{other.path}["))
        for other, _, _ in judged
    )
