# SPDX-License-Identifier: Apache-2.0
"""Time KV block zeroing against the ways there are, in one run: JSON, a table, and a plot.

    PYTHONPATH=benchmarks/soak PYTHON_WITH_TORCH benchmarks/zero_blocks.py --device cuda --out zeroing.json
    python benchmarks/zero_blocks.py --plot zeroing.json

CUDA: this op (with each of its kernels), a Triton kernel of upstream's algorithm, `index_fill_` for each
layer, and cudaMemsetAsync of the same bytes as the ceiling; device events. CPU: this op, a Python loop of
`zero_()`, `index_fill_`, and memset on the same threads as the ceiling; wall clock, with the caches full of other
data (`cold`) or as the same call just left them (`warm`). Contestants take turns within every repetition, in rotating
order, so a ratio compares neighbours: its median is reported, and the ratio of the best times, which is the one to
read on a machine that others use as well. `host_us` is what a call costs the caller.
"""

from __future__ import annotations

import argparse
import itertools
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from zero_blocks import device, host
from zero_blocks.case import OURS, Case
from zero_blocks.measure import KIB, Timer, measure, print_rows
from zero_blocks.picture import plot

BLOCKS = (1, 8, 64, 256, 1024, 8192)
PAGES = (4 * KIB, 16 * KIB, 64 * KIB, 2048 * KIB)
SEGMENTS = {"cpu": (12,), "cuda": (12, 64)}
TIMERS: dict[str, dict[str, Timer]] = {
    "cpu": {"cold": host.time_cold, "warm": host.time_warm},
    "cuda": {"as they are": device.time_on_device},
}


def cases(buffer: Any, kind: str, arguments: argparse.Namespace) -> Iterator[Case]:
    """Those that fit the buffer, smallest first; never more than the time allows."""
    until = time.monotonic() + arguments.budget
    grid = itertools.product(arguments.pages or PAGES, arguments.blocks or BLOCKS, SEGMENTS[kind])
    for page, blocks, segments in sorted(grid, key=lambda size: size[0] * size[1] * size[2]):
        if page * blocks * segments > buffer.numel():
            continue
        if time.monotonic() > until:
            print(f"Time is up before {blocks} blocks of {page} bytes in {segments} segments: raise --budget.")
            return
        yield Case(buffer, page, blocks, segments)


def run(arguments: argparse.Namespace) -> dict[str, Any]:
    """Measure everything and return facts and rows."""
    import torch

    kind = arguments.device
    torch.set_num_threads(arguments.threads)
    where = torch.device(kind, 0) if kind == "cuda" else torch.device(kind)
    buffer = torch.ones(int(arguments.memory * KIB**3) // 4, dtype=torch.int32, device=where).view(torch.uint8)
    name = torch.cuda.get_device_name(0) if kind == "cuda" else f"{host.processor()}, {arguments.threads} threads"
    with torch.inference_mode():
        rows = [row for case in cases(buffer, kind, arguments) for row in rows_of(case, kind, arguments)]
    return {"device": name, "kind": kind, "torch": torch.__version__, "rows": rows}


def rows_of(case: Case, kind: str, arguments: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Check, measure and print one case, in every state of the caches."""
    contestants = (device if kind == "cuda" else host).contestants(case, arguments.threads)
    case.check(contestants[OURS])
    repeats = max(1, min(20, (4 << 20) // case.bytes))
    for caches, timer in TIMERS[kind].items():
        rows = list(measure(case, caches, contestants, timer, arguments.rounds, repeats))
        print_rows(rows)
        yield from rows


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--threads", type=int, default=2, help="on the CPU")
    parser.add_argument("--memory", type=float, default=1.0, help="GiB to zero in; more reaches larger cases")
    parser.add_argument("--pages", type=int, nargs="*", help="bytes")
    parser.add_argument("--blocks", type=int, nargs="*")
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--budget", type=float, default=200, help="seconds after which no case is begun")
    parser.add_argument("--out", type=Path, default=Path("zero_blocks.json"))
    parser.add_argument("--plot", type=Path, help="only draw this JSON file")
    arguments = parser.parse_args()
    if arguments.plot:
        print(plot(arguments.plot))
        return
    arguments.out.write_text(json.dumps(run(arguments), indent=1) + "\n", encoding="utf-8")
    print(f"Wrote {arguments.out}. To draw it: python benchmarks/zero_blocks.py --plot {arguments.out}")


if __name__ == "__main__":
    main()
