# SPDX-License-Identifier: Apache-2.0
"""The engine's process: an `LLM()` that serves what its standard input asks for.

    python -m locating.target --model FOLDER --blocks N [--growth FILE]

One command a line: `load N` serves N unique requests to the end, `keep` serves without a pause until the next line
comes, `stop` ends the process. Each is answered by one line of JSON. With `--growth` nothing is asked: the process
measures itself by `vllm_soak.growth()` and leaves what it measured in a file.
"""

from __future__ import annotations

import argparse
import json
import os
import pickle
import select
import sys
import time
import traceback
from pathlib import Path
from typing import Any, TextIO

import vllm_soak

WARM_UP, ROUND, ROUNDS = 200, 200, 3
FOR_EVER = 10**9


class AskedError(Exception):
    """The next command is there."""


class Service:
    """Serves unique requests of 220 tokens, 64 in flight.

    Args:
        engine: The driver's engine.
    """

    def __init__(self, engine: Any) -> None:
        from vllm_soak.workloads.workload import make_workload

        self.engine = engine
        self.workload = make_workload({"input_len": 220}, engine.vocab_size)
        self.requests = 0

    def load(self, requests: int, stop_when_asked: bool = False) -> dict[str, Any]:
        """Serve so many requests and step until the engine is idle."""
        from vllm_soak.engines.load import Load, LoadOrder

        one = Load(self.engine, self.workload, LoadOrder(requests=requests, first=self.requests), look(stop_when_asked))
        began = time.monotonic()
        try:
            one.run()
        except AskedError:
            while self.engine.busy():
                self.engine.step()
        self.requests += one.sent
        return {"requests": one.done, "seconds": time.monotonic() - began}


def look(stop_when_asked: bool) -> Any:
    """What a load calls a few times a second.

    Raises:
        AskedError: From what it returns.
    """

    def tell(_done: int, _total: int) -> None:
        if stop_when_asked and select.select([sys.stdin], [], [], 0)[0]:
            raise AskedError

    return tell


def obey(service: Service, answers: TextIO) -> None:
    """Answer commands until `stop` or the end of the input."""
    print(json.dumps({"ready": os.getpid()}), file=answers, flush=True)
    while command := sys.stdin.readline().split():
        if command[0] == "stop":
            return
        kept = command[0] == "keep"
        print(json.dumps(service.load(FOR_EVER if kept else int(command[1]), kept)), file=answers, flush=True)


def measure(service: Service, out: Path) -> None:
    """Three rounds of 200 requests by the Python API, after a round of warm-up that ends with the baseline."""
    growth = vllm_soak.growth(warm_up=1)
    service.load(WARM_UP)
    growth.round(WARM_UP)
    for _ in range(ROUNDS):
        service.load(ROUND)
        growth.round(ROUND)
    out.write_bytes(pickle.dumps(growth.arm))  # the verdict takes scipy, which an engine's environment may lack


def main() -> None:
    """Build the engine, then obey or measure."""
    parser = argparse.ArgumentParser(prog="python -m locating.target")
    parser.add_argument("--model", required=True)
    parser.add_argument("--blocks", type=int, required=True)
    parser.add_argument("--growth", type=Path)
    given = parser.parse_args()
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # whatever the engine prints
    from vllm_soak.engines import inproc, vllm_compat

    vllm_compat.load_plugins()

    def serve(engine: Any) -> None:
        service = Service(engine)
        measure(service, given.growth) if given.growth else obey(service, answers)

    options = {"num_gpu_blocks_override": given.blocks, "block_size": 16}
    inproc.run({"model": given.model, "engine_args": options}, serve)


if __name__ == "__main__":
    try:
        main()
    except BaseException:  # noqa: BLE001 - engines leave threads behind that would keep a failed process alive
        traceback.print_exc()
        sys.stderr.flush()
        os._exit(1)
    sys.stderr.flush()
