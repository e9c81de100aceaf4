# SPDX-License-Identifier: Apache-2.0
"""Walks of an engine's heap: their time, their slices, their memory, and what they miss."""

from __future__ import annotations

import gc
import statistics
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

MILLION = 1_000_000


def status(name: str) -> int:
    """A field of this process's status, in bytes."""
    text = Path("/proc/self/status").read_text(encoding="ascii")
    return 1024 * int(next(line.split()[1] for line in text.splitlines() if line.startswith(f"{name}:")))


def walk_once(pace: Any, expected: int = 0) -> Any:
    """One finished walk; to be closed."""
    from vllm_soak.heap.native import NativeWalk
    from vllm_soak.heap.roots import all_roots

    walk = NativeWalk(all_roots(), pace=pace, expected=expected)
    walk.run()
    return walk


def cpu(act: Callable[[], Any]) -> float:
    """Seconds of CPU that something takes in this process."""
    began = time.process_time()
    act()
    return time.process_time() - began


def whole(turns: int) -> dict[str, Any]:
    """Whole walks and full collections of the same unfrozen heap, in turn."""
    from vllm_soak.heap.pace import WHOLE

    gc.unfreeze()
    gc.collect()
    walks, collections, found = [], [], {}
    for _ in range(turns):
        collections.append(cpu(gc.collect))
        began = time.process_time()
        walk = walk_once(WHOLE, found.get("objects", 0))
        walks.append(time.process_time() - began)
        found = {"objects": walk.objects, "containers": walk.containers, "groups": walk.table.groups}
        walk.close()
    known = len(gc.get_objects())
    gc.freeze()
    return {
        **found,
        "known_to_the_collector": known,
        "walk_cpu_s": statistics.median(walks),
        "collect_cpu_s": statistics.median(collections),
        "ratio": statistics.median(a / b for a, b in zip(walks, collections, strict=True)),
    }


def coverage() -> dict[str, Any]:
    """The share of what the collector knows that a whole walk reached, and what was missed, by type."""
    from vllm_soak.heap.attributes import type_name
    from vllm_soak.heap.pace import WHOLE

    gc.unfreeze()
    walk = walk_once(WHOLE)
    seen = {walk.table.object(at)[0] for at in range(walk.objects)}
    walk.close()
    known = gc.get_objects()
    missed = Counter(type_name(type(one)) for one in known if id(one) not in seen)
    share = 1 - missed.total() / len(known)
    del known
    gc.freeze()
    return {"share": share, "missed": dict(missed.most_common(10))}


def sliced(max_pause_ms: float) -> dict[str, Any]:
    """Every slice of a walk, with huge containers in the heap: time on the clock and on the CPU."""
    from vllm_soak.heap.native import NativeWalk
    from vllm_soak.heap.pace import Pace
    from vllm_soak.heap.roots import all_roots

    huge = [[(at,) for at in range(MILLION)], {at: [at] for at in range(MILLION)}, {(at,) for at in range(MILLION)}]
    pace, clock, thread = Pace(max_pause_ms=max_pause_ms), [], []
    walk, done = NativeWalk(all_roots(), pace=pace), False
    while not done:
        wall, used = time.perf_counter(), time.thread_time()
        done = walk.table.advance(max_pause_ms)
        clock.append(1000 * (time.perf_counter() - wall))
        thread.append(1000 * (time.thread_time() - used))
        time.sleep(0.001)
    objects = walk.objects
    walk.close()
    del huge
    gc.collect()
    return {
        "objects": objects,
        "slices": len(clock),
        "held_ms_cpu": sum(thread),
        "longest_ms_clock": max(clock),
        "longest_ms_cpu": max(thread),
        "over_10_ms_clock": sum(one > 10 for one in clock),
        "p99_ms_clock": sorted(clock)[int(0.99 * len(clock))],
    }


def memory() -> dict[str, int]:
    """Anonymous memory of one whole walk at its peak, and what is left of it."""
    from vllm_soak.heap.pace import WHOLE

    walk_once(WHOLE).close()
    before = status("RssAnon")
    walk = walk_once(WHOLE)
    peak = status("RssAnon")
    walk.close()
    return {"peak_bytes": peak - before, "left_bytes": status("RssAnon") - before}
