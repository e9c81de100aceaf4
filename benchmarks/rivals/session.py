# SPDX-License-Identifier: Apache-2.0
"""One tool's whole test in one engine process: cache filling, throughput, cache full, and beside the load."""

from __future__ import annotations

import json
import multiprocessing
import os
import threading
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rivals.adapter import Adapter
from rivals.clock import Peak, StepClock, Stopwatch, cpu_seconds
from rivals.evidence import IN_A_ROW, best, conclusive, leaking_lines, place
from vllm_soak.engines.load import Load, LoadOrder
from vllm_soak.workloads.workload import make_workload

FILLING, FULL = "filling", "full"
ON, OFF = "on", "off"
BLOCK_TOKENS = 16
FEWEST_PAIRS = 3
# Requests beyond those that the blocks would do for, to have the prefix cache full for certain.
SURELY = 1.15
KEPT_LINES, KEPT_WIDTH = 3, 300


class Session:
    """Runs the phases and writes the result file after each.

    Args:
        engine: The driver's engine.
        kind: The tool's adapter.
        plan: What `plan_of` in `benchmarks/rivals.py` says: how much of what, and how long at most.
        result: The file to write.
    """

    def __init__(self, engine: Any, kind: type[Adapter], *, plan: dict[str, Any], result: Path) -> None:
        self.engine = StepClock(engine)
        self.plan = plan
        self.result = result
        self.pid = core_pid() if kind.child else os.getpid()
        self.adapter = kind(result.parent, self.pid)
        self.adapter.serve = self.load
        self.workload = make_workload({"input_len": plan["input_len"]}, engine.vocab_size)
        self.lines = leaking_lines()
        self.requests = 0
        self.stops: list[dict[str, float]] = []
        self.found: dict[str, Any] = {"phases": {}, "failures": {}}

    def run(self) -> None:
        """All phases; one that fails is noted, and the next is tried."""
        self.found["load_average"] = [os.getloadavg()[0]]
        self.load(self.plan["warm_up"])
        for name, phase in (
            (FILLING, lambda: self.naming(FILLING)),
            ("fill", self.fill),
            ("control", lambda: self.pairs("control", idle, idle)),
            ("throughput", self.throughput),
            (FULL, lambda: self.naming(FULL)),
            ("beside", self.beside),
        ):
            self.guarded(name, phase)
            self.found["facts"] = self.adapter.facts()
            self.found["longest_stop"] = max(self.stops, key=lambda stop: stop["cpu"], default=None)
            self.write()
        self.found["load_average"].append(os.getloadavg()[0])
        self.found["finished"] = True
        self.write()

    def guarded(self, name: str, phase: Callable[[], None]) -> None:
        """Run one phase."""
        try:
            phase()
        except Exception as error:  # noqa: BLE001 - a tool that breaks is a row of the table that says so
            self.found["failures"][name] = f"{type(error).__name__}: {error}"
            traceback.print_exc()

    def write(self) -> None:
        """Put the result where the controller reads it, whole or not at all."""
        draft = self.result.with_suffix(".part")
        draft.write_text(json.dumps(self.found), encoding="utf-8")
        draft.replace(self.result)

    def load(self, requests: int) -> float:
        """Serve so many unique requests; seconds."""
        order = LoadOrder(requests=requests, first=self.requests)
        done = Load(self.engine, self.workload, order, lambda _done, _total: None).run()
        self.requests += requests
        return float(done["seconds"])

    def fill(self) -> None:
        """Serve until the prefix cache holds every block."""
        wanted = int(SURELY * self.plan["blocks"] / (self.plan["input_len"] // BLOCK_TOKENS))
        if self.requests < wanted:
            self.load(wanted - self.requests)

    def naming(self, phase: str) -> None:
        """Windows of load and a reading after each, until the leak was ranked first three times or time is up."""
        until = time.monotonic() + self.plan["naming_seconds"]
        size = self.adapter.size or self.plan["window"]
        first, readings = self.requests, []
        peak = Peak(self.pid)
        self.stopped(self.adapter.start)
        try:
            for _ in range(self.windows(phase, size)):
                self.load(size)
                readings.append(self.reading(self.requests - first))
                late = len(readings) >= IN_A_ROW and time.monotonic() > until
                if late or conclusive(readings):
                    break
        finally:
            extra = peak.extra()
            self.stopped(self.adapter.stop)
            self.found["phases"][phase] = self.named(readings) | {
                "extra_bytes": extra,
                "records": list(self.adapter.records),
            }

    def windows(self, phase: str, size: int) -> int:
        """Windows at most; the cache must go on filling to the end of the last one of that phase."""
        wanted = int(self.adapter.windows or self.plan["windows"])
        room = (self.plan["blocks"] // (self.plan["input_len"] // BLOCK_TOKENS + 1) - self.requests) // size
        return min(wanted, room) if phase == FILLING else wanted

    def named(self, readings: list[dict[str, Any]]) -> dict[str, Any]:
        """What a phase's readings come to."""
        return {"named": best(readings), "conclusive": conclusive(readings), "readings": readings}

    def reading(self, requests: int) -> dict[str, Any]:
        """One reading, judged."""
        watch = Stopwatch()
        seen = self.adapter.read(requests)
        cost = watch.read()
        if not self.adapter.beside:
            self.stops.append(seen.stop or cost)
        what, rank = place(seen.lines, self.lines)
        top = [line[:KEPT_WIDTH] for line in seen.lines[:KEPT_LINES]]
        own = seen.lines[rank - 1][-KEPT_WIDTH:] if rank else ""
        row = {"requests": requests, "named": what, "rank": rank, "findings": len(seen.lines), "top": top, "own": own}
        return row | cost

    def stopped(self, action: Callable[[], None]) -> None:
        """Do something for which the engine waits."""
        watch = Stopwatch()
        action()
        if not self.adapter.beside:
            self.stops.append(watch.read())

    def throughput(self) -> None:
        """Blocks with the tool on and off, in pairs; a tool that only reads holds its baseline meanwhile."""
        watching = type(self.adapter).on is Adapter.on
        if watching:
            self.stopped(self.adapter.start)
        try:
            self.pairs("throughput", self.adapter.on, self.adapter.off)
        finally:
            if watching:
                self.adapter.stop()

    def pairs(self, name: str, turn_on: Callable[[], None], turn_off: Callable[[], None], size: int = 0) -> None:
        """Pairs of blocks with the tool on and off, each leading by turns; and the peak of memory over all of them."""
        size = size or self.plan["block"]
        until = time.monotonic() + self.plan["pairs_seconds"]
        rows: list[dict[str, Any]] = []
        peak = Peak(self.pid)
        for count in range(self.plan["pairs"]):
            if count >= FEWEST_PAIRS and time.monotonic() > until:
                break
            pair = [
                (kind, self.block(size, turn_on, turn_off) if kind == ON else self.block(size, idle, idle))
                for kind in order(count)
            ]
            rows.append(dict(pair))
        found = {"pairs": rows, "requests": size, "extra_bytes": peak.extra()}
        self.found["phases"][name] = found

    def block(self, size: int, before: Callable[[], None], after: Callable[[], None]) -> dict[str, float]:
        """One block of requests: seconds, CPU seconds of the engine core's process, longest time between steps."""
        self.stopped(before)
        self.engine.reset()
        began = cpu_seconds(self.pid)
        seconds = self.load(size)
        used = cpu_seconds(self.pid) - began
        longest = self.engine.longest
        self.stopped(after)
        return {"seconds": seconds, "cpu": used, "longest": longest}

    def beside(self) -> None:
        """Throughput and the longest step while the tool reads beside the serving engine, for tools that can."""
        for name, act in self.adapter.acts().items():
            repeated = Repeated(act)
            self.pairs(name, repeated.begin, repeated.end, self.plan["beside_block"])
            self.found["phases"][name]["actions"] = repeated.count
            if repeated.failure:
                raise repeated.failure


class Repeated:
    """An action repeated in a thread between `begin` and `end`.

    Args:
        action: What to do.
    """

    def __init__(self, action: Callable[[], None]) -> None:
        self.action = action
        self.count = 0
        self.failure: Exception | None = None

    def begin(self) -> None:
        """Start the thread."""
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._run, name="rival", daemon=True)
        self._thread.start()

    def end(self) -> None:
        """Let the action under way finish."""
        self._ending.set()
        self._thread.join()

    def _run(self) -> None:
        try:
            while not self._ending.is_set():
                self.action()
                self.count += 1
        except Exception as error:  # noqa: BLE001 - handed to the main thread
            self.failure = error


def order(count: int) -> tuple[str, str]:
    """Which block of a pair comes first."""
    return (OFF, ON) if count % 2 == 0 else (ON, OFF)


def idle() -> None:
    """Do nothing: the control."""


def core_pid() -> int:
    """The EngineCore child."""
    found = [one.pid for one in multiprocessing.active_children() if one.name.startswith("EngineCore")]
    if not found or found[0] is None:
        raise RuntimeError("there is no EngineCore child: VLLM_ENABLE_V1_MULTIPROCESSING must be 1")
    return found[0]
