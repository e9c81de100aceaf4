# SPDX-License-Identifier: Apache-2.0
"""What the sampler outside the target costs: processor time of one reading, as a share of a core at one a second.

    python benchmarks/sampler.py [--seconds 60] [--processes 3] [--megabytes 512] [--threads 60]

Makes a tree like a server's (an API server, an EngineCore, workers; so many threads, open files and bytes each), serves
a metrics page of a vLLM server's size, and samples it once a second for a while, in a thread as a run does.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from vllm_soak.observe.sampler import SamplerHooks, TreeSampler
from vllm_soak.store.outside import Point

# argv: megabytes, threads, files, then the titles of children.
PROCESS = """
import subprocess, sys, threading, time
megabytes, threads, files, *titles = sys.argv[1:]
held = [bytearray(b"x") * (1 << 20) for _ in range(int(megabytes))]
opened = [open("/dev/null") for _ in range(int(files))]
for _ in range(int(threads)):
    threading.Thread(target=time.sleep, args=(3600,), daemon=True).start()
code = sys.stdin.read()
children = [subprocess.Popen([title, "-c", code, *sys.argv[1:4]], executable=sys.executable, stdin=subprocess.PIPE)
            for title in titles]
for child in children:
    child.stdin.close()
print("ready", flush=True)
time.sleep(3600)
"""
FILES = 200
BUCKETS, HISTOGRAMS, OTHERS = 25, 25, 80


class Metrics(BaseHTTPRequestHandler):
    """A metrics page as long as a vLLM server's."""

    protocol_version = "HTTP/1.1"
    page = b""

    def do_GET(self) -> None:
        """Answer with the page."""
        self.send_response(200)
        self.send_header("Content-Length", str(len(self.page)))
        self.end_headers()
        self.wfile.write(self.page)

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


def metrics_page() -> bytes:
    """A page of gauges, counters and histograms."""
    label = 'engine="0",model_name="a-model-with-a-name-of-usual-length"'
    lines = [f"vllm:num_requests_running{{{label}}} 64.0", f"vllm:num_requests_waiting{{{label}}} 3.0"]
    lines += [f"vllm:kv_cache_usage_perc{{{label}}} 0.5", f"vllm:num_preemptions_total{{{label}}} 0.0"]
    reasons = ("stop", "length", "abort", "error")
    lines += [f'vllm:request_success_total{{{label},finished_reason="{one}"}} 9.0' for one in reasons]
    for number in range(HISTOGRAMS):
        lines += [f"# HELP vllm:histogram_{number} Text.", f"# TYPE vllm:histogram_{number} histogram"]
        lines += [f'vllm:histogram_{number}_bucket{{{label},le="{bound}"}} {bound}.0' for bound in range(BUCKETS)]
    lines += [f'http_requests_total{{handler="/{number}",status="2xx"}} {number}.0' for number in range(OTHERS)]
    return ("\n".join(lines) + "\n").encode()


def start_tree(options: argparse.Namespace) -> subprocess.Popen[str]:
    """Start the tree and wait until its root is ready."""
    titles = ["VLLM::EngineCore", *(f"VLLM::Worker_TP{at}" for at in range(options.processes - 2))]
    numbers = [str(options.megabytes), str(options.threads), str(FILES)]
    process = subprocess.Popen(
        [sys.executable, "-c", PROCESS, *numbers, *titles[: options.processes - 1]],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(PROCESS)
    process.stdin.close()
    process.stdout.readline()
    return process


def measure(root: int, url: str, seconds: float) -> tuple[int, float]:
    """Sample once a second in a thread; return readings and the processor seconds of that thread."""
    spent: list[float] = []

    def took(_points: list[Point]) -> None:
        spent.append(time.thread_time())

    sampler = TreeSampler(root, SamplerHooks(took), metrics=url)
    sampler.start()
    time.sleep(seconds)
    sampler.stop()
    return len(spent), spent[-1]


def main() -> int:
    """Print the cost; end with 1 when it is above one hundredth of a core."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--processes", type=int, default=3)
    parser.add_argument("--megabytes", type=int, default=512)
    parser.add_argument("--threads", type=int, default=60)
    options = parser.parse_args()
    Metrics.page = metrics_page()
    server = ThreadingHTTPServer(("127.0.0.1", 0), Metrics)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    tree = start_tree(options)
    try:
        readings, spent = measure(tree.pid, f"http://127.0.0.1:{server.server_port}", options.seconds)
    finally:
        subprocess.run(["kill", "-KILL", "--", f"-{tree.pid}"], check=False)
        tree.wait()
        server.shutdown()
    share = spent / options.seconds
    what = f"{options.processes} processes of {options.megabytes} MB, {options.threads} threads and {FILES} files each"
    print(f"{what}; metrics page of {len(Metrics.page):,} bytes every 5 s")
    print(
        f"{readings} readings in {options.seconds:.0f} s: {spent / readings * 1000:.2f} ms each, {share:.2%} of a core"
    )
    return int(share > 0.01)


if __name__ == "__main__":
    sys.exit(main())
