# SPDX-License-Identifier: Apache-2.0
"""Requests a second that one core of the load process offers, and what a million of them leave in memory.

    python benchmarks/http_load.py --requests 20000
    python benchmarks/http_load.py --requests 1000000 --mix benchmarks/http_load.toml --out vllm-soak-runs/http-load

A trivial server runs on one core, the load process on another. This process is the controller: it reads the control
channel and writes what comes once a second to a run's store, as `vllm-soak run` does. The first tenth of the requests
is warm-up; after that, anonymous memory of controller and load process is compared as the median of the first and the
last tenth of the readings.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import tomllib

from vllm_soak.engines.channel import Channel
from vllm_soak.sampling.histogram import quantile
from vllm_soak.sampling.memory import read_fields
from vllm_soak.store.outside import Point
from vllm_soak.store.writer import RunStore

HERE = Path(__file__).resolve().parent
ARM = "run"
WARM_UP = 0.1
MIB = 1 << 20
UNIQUE = {"part": [{"workload": "unique"}]}


def anonymous(pid: int) -> float:
    """RssAnon and VmSwap of a process in bytes."""
    values = read_fields(Path(f"/proc/{pid}/status"), {"RssAnon": "anon", "VmSwap": "swap"})
    return values["anon"] + values["swap"]


@dataclass
class Readings:
    """Memory of one process over requests.

    Args:
        rows: `(requests, bytes)`.
    """

    rows: list[tuple[int, float]] = field(default_factory=list)

    def line(self, name: str, requests: int) -> str:
        """Level after warm-up, level at the end, and the greatest ever, in MiB."""
        measured = [value for done, value in self.rows if done >= WARM_UP * requests] or [self.rows[-1][1]]
        tenth = max(1, len(measured) // 10)
        first, last = statistics.median(measured[:tenth]), statistics.median(measured[-tenth:])
        return (
            f"{name:<14}{first / MIB:8.2f} -> {last / MIB:8.2f} MiB ({(last - first) / MIB:+.2f}), "
            f"greatest {max(measured) / MIB:.2f}"
        )


class Controller:
    """Starts server and load process, sends commands and keeps what they answer with.

    Args:
        store: Takes a point a second.
        server_core: Core of the server.
        client_core: Core of the load process.
    """

    def __init__(self, store: RunStore, server_core: int, client_core: int) -> None:
        self.store = store
        server = [sys.executable, str(HERE / "trivial_server.py"), "--core", str(server_core)]
        self.server = subprocess.Popen(server, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self.server.stdout is not None
        self.url = f"http://127.0.0.1:{int(self.server.stdout.readline())}"
        self.client, self.channel = start_load_process(client_core)
        self.memory = {"controller": Readings(), "load process": Readings()}
        self._done = 0

    def request(self, command: str, **arguments: Any) -> dict[str, Any]:
        """Send a command and keep its events until it is answered."""
        self.channel.send({"id": 1, "command": command, **arguments})
        while "event" in (message := self.channel.receive()):
            if message["event"] == "second":
                self._second(message)
        if "error" in message:
            raise SystemExit(f"{message['error']['cause']}: {message['error']['remedy']}.")
        return {name: value for name, value in message.items() if name != "id"}

    def stop(self) -> None:
        """End both processes."""
        self.request("stop")
        self.client.wait(30)
        assert self.server.stdin is not None
        self.server.stdin.close()
        self.server.wait(30)

    def _second(self, row: dict[str, Any]) -> None:
        self._done += sum(row[name] for name in ("completed", "failed", "aborted", "rejected"))
        values = {name: float(row[name]) for name in ("completed", "failed", "cpu", "lag")}
        point = Point(ARM, row["seconds"], "CLIENT", 0, self._done, values | row["latency"])
        self.store.add_points([point])
        for name, pid in (("controller", os.getpid()), ("load process", self.client.pid)):
            self.memory[name].rows.append((self._done, anonymous(pid)))


def start_load_process(core: int) -> tuple[subprocess.Popen[bytes], Channel]:
    """The load process on one core, and this side of its channel."""
    ours_in, theirs_out = os.pipe()
    theirs_in, ours_out = os.pipe()
    line = [sys.executable, "-m", "vllm_soak.load", "--control-in", str(theirs_in), "--control-out", str(theirs_out)]
    process = subprocess.Popen(line, pass_fds=(theirs_in, theirs_out))
    os.sched_setaffinity(process.pid, {core})
    os.close(theirs_in)
    os.close(theirs_out)
    return process, Channel(ours_in, ours_out)


def show(loaded: dict[str, Any]) -> None:
    """What one load answered."""
    client = loaded["client"]
    rate = loaded["requests"] / loaded["seconds"]
    print(f"{loaded['requests']:,} requests in {loaded['seconds']:.1f} s: {rate:,.0f} requests/s")
    print(f"load process: {client['cpu']:.2f} cores, {rate / client['cpu']:,.0f} requests per second of its core")
    outcomes = ", ".join(f"{loaded[name]:,} {name}" for name in ("completed", "failed", "aborted", "rejected"))
    print(f"{outcomes}; {loaded['output_tokens']:,} output tokens; errors {loaded['errors'] or 'none'}")
    for name in ("latency", "first_token", "inter_token"):
        p50, p99 = (quantile(loaded[name], share) for share in (0.5, 0.99))
        if p50 is not None and p99 is not None:
            print(f"{name}: p50 {1000 * p50:.2f} ms, p99 {1000 * p99:.2f} ms")
    print(f"bottleneck: {client['bottleneck'] or 'none that the client knows of'}")


def main() -> None:
    """Measure once."""
    parser = argparse.ArgumentParser(prog="http_load.py", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--requests", type=int, default=20_000)
    parser.add_argument("--max-concurrency", type=int, default=64)
    parser.add_argument("--mix", type=Path, help="TOML file; default: unique prompts of 220 tokens, one token out")
    parser.add_argument("--out", type=Path, help="run folder to be kept")
    parser.add_argument("--cores", type=int, nargs=2, default=(0, 1), metavar=("CLIENT", "SERVER"))
    given = parser.parse_args()
    mix = tomllib.loads(given.mix.read_text(encoding="utf-8")) if given.mix else UNIQUE
    with ExitStack() as stack:
        folder = given.out or Path(stack.enter_context(tempfile.TemporaryDirectory())) / "run"
        store = stack.enter_context(RunStore.create(folder, {"benchmark": "http_load"}))
        store.add_arm(ARM)
        controller = Controller(store, given.cores[1], given.cores[0])
        stack.callback(controller.stop)
        controller.request("start", url=controller.url, model="trivial", mix=mix)
        loaded = controller.request("load", requests=given.requests, max_concurrency=given.max_concurrency)["loaded"]
        show(loaded)
        for name, readings in controller.memory.items():
            print(readings.line(name, given.requests))


if __name__ == "__main__":
    main()
