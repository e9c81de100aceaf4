# SPDX-License-Identifier: Apache-2.0
"""Python's garbage collector: what is pending, and what it has done so far."""

from __future__ import annotations

import gc
from typing import Any


def collector() -> dict[str, float]:
    """`gc_count0..2`, `gc_collections`, `gc_collected`, `gc_uncollectable` since start, and `gc_frozen`."""
    stats = gc.get_stats()
    values = {f"gc_count{at}": float(count) for at, count in enumerate(gc.get_count())}
    totals = {name: float(sum(one[name] for one in stats)) for name in ("collections", "collected", "uncollectable")}
    return {
        **values,
        **{f"gc_{name}": total for name, total in totals.items()},
        "gc_frozen": float(gc.get_freeze_count()),
    }


def collector_details() -> dict[str, Any]:
    """How the collector is set and what each generation has done: `gc.get_stats()`, thresholds, counts, callbacks.

    A process that steps to another speed may have changed one of these, or walk an ever older generation.
    """
    return {
        "enabled": gc.isenabled(),
        "threshold": list(gc.get_threshold()),
        "count": list(gc.get_count()),
        "stats": gc.get_stats(),
        "frozen": gc.get_freeze_count(),
        "garbage": len(gc.garbage),
        "debug": gc.get_debug(),
        "callbacks": [getattr(one, "__qualname__", type(one).__qualname__) for one in gc.callbacks],
    }
