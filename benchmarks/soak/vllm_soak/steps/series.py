# SPDX-License-Identifier: Apache-2.0
"""The series that are watched: their names, how much of a change is told, and which way is worse."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

LATENCY_P50, LATENCY_P99, LATENCY_MEAN = "latency_p50", "latency_p99", "latency_mean"
THROUGHPUT, CPU_PER_REQUEST = "throughput", "cpu_per_request"
# Least change of each series that is told, as a share; a 99th percentile of one second is noisier.
EFFECTS = {LATENCY_P50: 0.18, LATENCY_P99: 0.5, LATENCY_MEAN: 0.18, THROUGHPUT: 0.18, CPU_PER_REQUEST: 0.18}
# The first of these that changed says whether a step was for the worse.
TELLING_FIRST = (LATENCY_P50, LATENCY_MEAN, LATENCY_P99, THROUGHPUT, CPU_PER_REQUEST)


def slower(changes: Mapping[str, Sequence[float]]) -> bool:
    """Whether a step made the server slower: latency rose, throughput fell, or a request took more processor time.

    Args:
        changes: Level before and after, by series.
    """
    for name in TELLING_FIRST:
        if name in changes:
            before, after = changes[name]
            return after < before if name == THROUGHPUT else after > before
    return False
