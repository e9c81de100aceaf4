# SPDX-License-Identifier: Apache-2.0
"""Live servers that run steadily, then slower: how many steps are told before, and how soon after.

    python benchmarks/live_steps.py [--runs 10] [--steady 300] [--slower 75] [--folder FOLDER]
    python benchmarks/live_steps.py --url http://127.0.0.1:8000 --rate 100 --held 0.008 --free 0.016

Each run has a server, the load process that `vllm-soak run` uses, and the observation of a run with its store. Without
`--url` the server is a toy of each run's own, and all runs go at once; with it, a real server that is up is used, one
run after the other (start it with VLLM_SOAK_PROBE=1 for whole captures). After the steady time one of the server's
processes is held by SIGSTOP for `--held` seconds, let go for `--free` seconds and so on; `--slower 0` leaves it alone.
Whatever else goes on on the machine goes on: steps that the machine accounts for are counted apart. Ends with 1 when
a steady run was told a step of the server, or a step was not told within a minute or not captured.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from statistics import median
from typing import Any

from slowed_server import Slowed, hold_back, real_server, start_toy

from vllm_soak.engines.target import TargetProcess
from vllm_soak.steps.observation import Observation, Subject
from vllm_soak.store.outside import CLIENT
from vllm_soak.store.reader import read_run
from vllm_soak.store.record import Arm
from vllm_soak.store.writer import RunStore

WITHIN = 60.0
# What came of a run, beside its store; `replay_steps.py` takes from it when the server was slowed down.
RESULT = "live.json"


def one_run(folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    """Run one server; return what was told of it."""
    folder.mkdir(parents=True)
    server = real_server(options.url, options.hold) if options.url else start_toy(folder / "sockets")
    load = TargetProcess(
        python=Path(sys.executable),
        log=folder / "load.log",
        probe_folder=folder,
        environment=os.environ,
        module="vllm_soak.load",
    )
    store = RunStore.create(folder, {})
    store.add_arm("run")
    observation = Observation(store, folder, Subject(server.root, metrics=options.url, probe=server.probe))
    try:
        load.launch()
        workload = {
            "kind": "unique",
            "input_len": options.input_len,
            "output_len": options.output_len,
            "prefix_len": 0,
            "seed": 0,
        }
        known = {} if options.url else {"model": "m", "chars_per_token": 1.0}
        load.request("start", url=server.url, workload=workload, seed=os.getpid(), **known)
        observation.start()
        at = drive(observation, load, server, options)
    finally:
        load.stop()
        observation.stop()
        server.close()
        store.set_status("finished")
        store.close()
    result = told(folder, at)
    (folder / RESULT).write_text(json.dumps(result, indent=1))
    return result


def drive(observation: Observation, load: TargetProcess, server: Slowed, options: argparse.Namespace) -> float:
    """Load the server: warm-up, steady, held; return when it was first held, on the observation's clock."""
    over = threading.Event()
    holder = threading.Thread(target=hold_back, args=(server.held, options.held, options.free, over))
    offered = {"max_concurrency": options.clients, "request_rate": options.rate, "burstiness": 1.0}
    first = 0
    at = 0.0
    try:
        for phase in ("warm_up", "steady", "slower"):
            seconds = getattr(options, phase)
            if phase == "steady":
                observation.steady()
            elif phase == "slower":
                at = observation.sampler.elapsed
                if seconds:
                    holder.start()
            if seconds:
                done = load.request("load", seconds=seconds, first=first, **offered,
                                    on_event=lambda event: take(observation, event))  # fmt: skip
                first += done["requests"]
    finally:
        over.set()
        if holder.ident:
            holder.join()
    return at


def take(observation: Observation, event: dict[str, Any]) -> None:
    """Pass on a second of load."""
    if event.get("event") == "second":
        observation.second(event)


def told(folder: Path, at: float) -> dict[str, Any]:
    """What the store says: steps before the server was slowed down, and the first one after."""
    (arm,) = read_run(folder).arms
    before, after = ([one for one in arm.level_steps if (one.seen < at) is early] for early in (True, False))
    captured = {one.elapsed: one for one in arm.captures}
    first = next((one for one in after if not one.contention), None)
    capture = captured.get(first.seen) if first else None
    return {
        "slow_down": at,
        "false": sum(not one.contention for one in before),
        "contention": sum(bool(one.contention) for one in arm.level_steps),
        "delay": round(first.seen - at, 1) if first else None,
        "rose": {name: rise(arm, name, at) for name in ("latency_p50", "latency_p99")},
        "steps": [{"at": one.elapsed, "seen": one.seen, "reason": one.reason} for one in arm.level_steps],
        "captured": sorted(capture.files) if capture else [],
        "notes": capture.notes if capture else [],
    }


def rise(arm: Arm, name: str, at: float) -> float | None:
    """How much higher the middle of a series was in the minute after a moment than before it, as a share."""
    seconds = [(one.elapsed, one.values[name]) for one in arm.points if one.process == CLIENT and name in one.values]
    before = [value for elapsed, value in seconds if elapsed < at]
    after = [value for elapsed, value in seconds if at <= elapsed < at + WITHIN]
    return round(median(after) / median(before) - 1, 3) if before and after else None


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--warm-up", type=float, default=0.0)
    parser.add_argument("--steady", type=float, default=300.0)
    parser.add_argument("--slower", type=float, default=75.0)
    parser.add_argument("--held", type=float, default=0.030)
    parser.add_argument("--free", type=float, default=0.100)
    parser.add_argument("--url")
    parser.add_argument("--hold", default="EngineCore", help="role of the process to hold, with --url")
    parser.add_argument("--rate", default="inf", help="requests a second, or inf for a closed loop")
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--input-len", type=int, default=8)
    parser.add_argument("--output-len", type=int, default=1)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args()


def start_one(folder: Path) -> subprocess.Popen[str]:
    """Start this script for one run in a process of its own, with the same options."""
    return subprocess.Popen(
        [sys.executable, __file__, *sys.argv[1:], "--one", "--folder", str(folder)], stdout=subprocess.PIPE, text=True
    )


def main() -> int:
    """Make all runs and print one line each."""
    options = arguments()
    if options.one:
        print(json.dumps(one_run(options.folder, options)))
        return 0
    base = options.folder or Path(tempfile.mkdtemp(prefix="live-steps-"))
    folders = [base / str(number) for number in range(options.runs)]
    found = []
    for together in [folders] if options.url is None else [[one] for one in folders]:
        for process in [start_one(one) for one in together]:
            found.append(json.loads(process.communicate()[0]))
            print(json.dumps(found[-1]), flush=True)
    return summary(found, options)


def summary(found: list[dict[str, Any]], options: argparse.Namespace) -> int:
    """Print what came out of all runs; return 1 when a step was told wrongly, late or without a capture."""
    false = sum(one["false"] > 0 for one in found)
    machine = sum(one["contention"] for one in found)
    print(f"{false} of {len(found)} steady runs of {options.steady:.0f} s were told a step of the server; "
          f"{machine} steps were the machine's")  # fmt: skip
    if not options.slower:
        return int(false > 0)
    seen = sorted(one["delay"] for one in found if one["delay"] is not None and one["delay"] <= WITHIN)
    captured = sum(bool(one["captured"]) for one in found)
    middle = f", after {seen[len(seen) // 2]:.0f} s in the middle" if seen else ""
    print(f"{len(seen)} of {len(found)} slow-downs were told within {WITHIN:.0f} s{middle}; {captured} were captured")
    return int(false > 0 or len(seen) < len(found) or captured < len(found))


if __name__ == "__main__":
    sys.exit(main())
