# SPDX-License-Identifier: Apache-2.0
"""Live servers that run steadily, then a third slower: how many steps are told before, and how soon after.

    python benchmarks/live_steps.py [--runs 10] [--steady 300] [--slower 75] [--folder FOLDER]

Each run has a small HTTP server, the load process that `vllm-soak run` uses, and the observation of a run with its
store. After the steady time the server is held by SIGSTOP for 30 of every 130 milliseconds, so that its work takes 30 %
longer. All runs go at once, on whatever else the machine does. Ends with 1 when a steady run was told a step, or a step
was not told within a minute or not captured.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from vllm_soak.engines.target import TargetProcess
from vllm_soak.steps.observation import Observation, Subject
from vllm_soak.store.reader import read_run
from vllm_soak.store.writer import RunStore

HELD, FREE = 0.030, 0.100
CLIENTS = 8
WITHIN = 60.0
# One request at a time, in slices of two milliseconds: time in which the process is held does not count as work.
SERVER = """
import json, threading, time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from vllm_soak.probe import arm
arm()
one = threading.Lock()
BODY = json.dumps({"id": "c", "object": "text_completion", "usage": {"prompt_tokens": 1, "completion_tokens": 1},
                   "choices": [{"index": 0, "text": "a", "finish_reason": "length"}]}).encode()
def work():
    with one:
        for _ in range(15):
            time.sleep(0.002)
class Server(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        work()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(BODY)))
        self.end_headers()
        self.wfile.write(BODY)
    def log_message(self, *_): pass
server = ThreadingHTTPServer(("127.0.0.1", 0), Server)
print(server.server_port, flush=True)
server.serve_forever()
"""


def start_server(sockets: Path) -> tuple[subprocess.Popen[str], str]:
    """Start a server with a probe; return it and its address."""
    variables = {**os.environ, "VLLM_SOAK_PROBE": str(sockets)}
    process = subprocess.Popen(
        [sys.executable, "-c", SERVER], env=variables, stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    assert process.stdout is not None
    return process, f"http://127.0.0.1:{int(process.stdout.readline())}"


def hold_back(pid: int, after: float, over: threading.Event) -> None:
    """From a moment on, hold a process for 30 of every 130 milliseconds."""
    over.wait(after)
    while not over.is_set():
        os.kill(pid, signal.SIGSTOP)
        time.sleep(HELD)
        os.kill(pid, signal.SIGCONT)
        over.wait(FREE)


def one_run(folder: Path, steady: float, slower: float) -> dict[str, Any]:
    """Run one server; return what was told of it."""
    folder.mkdir(parents=True)
    server, url = start_server(folder / "sockets")
    load = TargetProcess(
        python=Path(sys.executable),
        log=folder / "load.log",
        probe_folder=folder,
        environment=os.environ,
        module="vllm_soak.load",
    )
    over = threading.Event()
    store = RunStore.create(folder, {})
    store.add_arm("run")
    observation = Observation(store, folder, Subject(server.pid, probe=lambda pid: folder / "sockets" / f"{pid}.sock"))
    try:
        load.launch()
        workload = {"kind": "unique", "input_len": 8, "output_len": 1, "prefix_len": 0, "seed": 0}
        load.request("start", url=url, model="m", workload=workload, seed=0, chars_per_token=1.0)
        observation.start()
        began = observation.sampler.elapsed
        holder = threading.Thread(target=hold_back, args=(server.pid, steady, over))
        holder.start()
        load.request("load", seconds=steady + slower, first=0, max_concurrency=CLIENTS, request_rate="inf",
                     burstiness=1.0, on_event=lambda event: take(observation, event))  # fmt: skip
    finally:
        over.set()
        load.stop()
        observation.stop()
        server.kill()
        store.close()
    return told(folder, began + steady)


def take(observation: Observation, event: dict[str, Any]) -> None:
    """Pass on a second of load."""
    if event.get("event") == "second":
        observation.second(event)


def told(folder: Path, at: float) -> dict[str, Any]:
    """What the store says: steps before the server was slowed down, and the first one after."""
    (arm,) = read_run(folder).arms
    after = [one for one in arm.level_steps if one.seen >= at]
    captured = {one.elapsed: one for one in arm.captures}
    first = after[0] if after else None
    capture = captured.get(first.seen) if first else None
    return {
        "false": sum(one.seen < at for one in arm.level_steps),
        "delay": first.seen - at if first else None,
        "changes": first.changes if first else {},
        "captured": sorted(capture.files) if capture else [],
        "notes": capture.notes if capture else [],
    }


def main() -> int:
    """Run all at once and print one line each."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--steady", type=float, default=300.0)
    parser.add_argument("--slower", type=float, default=75.0)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(one_run(options.folder, options.steady, options.slower)))
        return 0
    folder = options.folder or Path(tempfile.mkdtemp(prefix="live-steps-"))
    times = ["--steady", str(options.steady), "--slower", str(options.slower)]
    command = [sys.executable, __file__, "--one", *times, "--folder"]
    started = [
        subprocess.Popen([*command, str(folder / str(number))], stdout=subprocess.PIPE, text=True)
        for number in range(options.runs)
    ]
    found = [json.loads(process.communicate()[0]) for process in started]
    for one in found:
        print(json.dumps(one))
    false = sum(one["false"] > 0 for one in found)
    seen = sorted(one["delay"] for one in found if one["delay"] is not None and one["delay"] <= WITHIN)
    captured = sum(bool(one["captured"]) for one in found)
    middle = f", after {seen[len(seen) // 2]:.0f} s in the middle" if seen else ""
    print(f"{false} of {len(found)} steady runs of {options.steady:.0f} s were told a step; "
          f"{len(seen)} steps of +30 % were told within {WITHIN:.0f} s{middle}; {captured} were captured")  # fmt: skip
    return int(false > 0 or len(seen) < len(found) or captured < len(found))


if __name__ == "__main__":
    sys.exit(main())
