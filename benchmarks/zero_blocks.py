# SPDX-License-Identifier: Apache-2.0
"""Time KV block zeroing against the ways there are, in one run: JSON, a table, and a plot.

    PYTHONPATH=benchmarks/soak PYTHON_WITH_TORCH benchmarks/zero_blocks.py --device cuda --out zeroing.json
    python benchmarks/zero_blocks.py --plot zeroing.json

CUDA: this op (with each of its kernels), a Triton kernel of upstream's algorithm, `index_fill_` for each
layer, and cudaMemsetAsync of the same bytes as the ceiling; device events. CPU: this op, a Python loop of
`zero_()`, `index_fill_`, and memset on the same threads as the ceiling; wall clock. Contestants take
turns within every repetition, in rotating order, so a ratio compares neighbours: its median is reported, and the
ratio of the best times, which is the one to read on a machine that others use as well. `host_us` is what a call
costs the caller.
"""

from __future__ import annotations

import argparse
import functools
import itertools
import json
import platform
import random
import statistics
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

try:
    import triton
    import triton.language as tl
except ImportError:
    triton = None

KIB = 1024
BLOCKS = (1, 8, 64, 256, 1024, 8192)
PAGES = (4 * KIB, 16 * KIB, 64 * KIB, 2048 * KIB)
SEGMENTS = {"cpu": (12,), "cuda": (12, 64)}
SLEEP_CYCLES = 400_000  # the device waits a fraction of a millisecond, so that the host gets ahead of it
OTHER_BYTES = 128 << 20  # a multiple of any last-level cache that two cores share
CEILING, OURS = "memset", "zero_blocks"
Call = Callable[[], Any]


class Case:
    """Segments of one size in one buffer, and the ids to zero.

    Args:
        buffer: Bytes, on the device that is measured.
        blocks: Blocks to zero, out of a pool twice as large where that fits.
    """

    def __init__(self, buffer: Any, page: int, blocks: int, segments: int) -> None:
        import torch

        self.buffer, self.page, self.blocks, self.segments = buffer, page, blocks, segments
        self.bytes = page * blocks * segments
        self.pool = min(2 * blocks, buffer.numel() // (page * segments))
        self.ids = random.Random(blocks).sample(range(self.pool), blocks)  # noqa: S311 - a benchmark's ids
        self.host_ids = torch.tensor(self.ids)
        part = buffer[: page * self.pool * segments]
        self.layers = list(part.view(torch.int32).view(segments, self.pool, page // 4))

    def check(self, zero: Call) -> None:
        """Make sure that a contestant zeroes these blocks and no others."""
        for layer in self.layers:
            layer.fill_(1)
        zero()
        kept = sorted(set(range(self.pool)) - set(self.ids))
        for layer in (self.layers[0], self.layers[-1]):
            rows = layer.amax(1)
            assert int(rows[self.ids].amax()) == 0, "a block was left out"
            assert not kept or int(layer[kept].amin(1).amin()) == 1, "another block was touched"


def cpu_contestants(case: Case, threads: int) -> dict[str, Call]:
    """Ways to zero on the host."""
    from vllm_soak.zeroing.host_pool import HostPool
    from vllm_soak.zeroing.native import load
    from vllm_soak.zeroing.segment import segments_of_tensor

    pool = HostPool([part for layer in case.layers for part in segments_of_tensor(layer)], case.pool)
    memset, start = load("cpu").zero_blocks_cpu_memset, case.buffer.data_ptr()

    def loop() -> None:
        for layer in case.layers:
            for block in case.ids:
                layer[block].zero_()

    return {
        CEILING: lambda: memset(start, case.bytes, threads),
        OURS: lambda: pool.zero(case.ids, threads),
        "python loop": loop,
        "index_fill_": lambda: [layer.index_fill_(0, case.host_ids, 0) for layer in case.layers],
    }


def cuda_contestants(case: Case, _: int) -> dict[str, Call]:
    """Ways to zero on a GPU."""
    import torch

    from vllm_soak.zeroing.device_pool import DevicePool
    from vllm_soak.zeroing.native import load

    device, stream = case.buffer.device, torch.cuda.current_stream().cuda_stream
    table = torch.tensor([layer.data_ptr() for layer in case.layers], device=device)
    pools = {how: DevicePool(table, case.page, num_blocks=case.pool, method=how) for how in ("auto", "stores", "bulk")}
    memset, start = load("cuda").zero_blocks_cuda_memset, case.buffer.data_ptr()
    ids = case.host_ids.to(device)
    found = {
        CEILING: lambda: memset(start, case.bytes, device.index, stream),
        OURS: lambda: pools["auto"].zero_tensor(case.host_ids),
        "by stores": lambda: pools["stores"].zero_tensor(case.host_ids),
        "by bulk": lambda: pools["bulk"].zero_tensor(case.host_ids),
        "index_fill_": lambda: [layer.index_fill_(0, ids, 0) for layer in case.layers],
    }
    return found if triton is None else found | {"triton": triton_call(case, table)}


if triton is not None:

    @triton.jit
    def zero_chunk(  # noqa: ANN201, D103 - compiled by Triton; one program for each chunk of a page
        table,  # noqa: ANN001
        ids,  # noqa: ANN001
        segments,  # noqa: ANN001
        chunks,  # noqa: ANN001
        WORDS: tl.constexpr,  # noqa: N803 - Triton's way
    ):
        unit = tl.program_id(0)
        block = tl.load(ids + unit // (segments * chunks))
        base = tl.load(table + unit // chunks % segments).to(tl.pointer_type(tl.int32))
        at = (block * chunks + unit % chunks) * WORDS
        tl.store(base + at + tl.arange(0, WORDS), tl.zeros([WORDS], tl.int32))


def triton_call(case: Case, table: Any) -> Call:
    """Upstream's algorithm: ids from pinned memory, programs of 4 KiB or less."""
    import torch

    words = min(case.page // 4 & -(case.page // 4), 1024)
    chunks = case.page // 4 // words
    pinned = case.host_ids.pin_memory()
    ids = torch.empty_like(pinned, device=table.device)

    def call() -> None:
        ids.copy_(pinned, non_blocking=True)
        zero_chunk[(case.blocks * case.segments * chunks,)](table, ids, case.segments, chunks, WORDS=words)

    return call


def time_on_host(call: Call, _: int) -> tuple[float, float]:
    """Seconds of one call, and of that the caller's; the caches hold other data, as after a step of a model."""
    _other_data().sum()
    started = time.perf_counter()
    call()
    seconds = time.perf_counter() - started
    return seconds, seconds


@functools.cache
def _other_data() -> Any:
    import torch

    return torch.ones(OTHER_BYTES // 4)


def time_on_device(call: Call, repeats: int) -> tuple[float, float]:
    """Seconds a call on the device, by events, and on the host; the queue is never empty between calls."""
    import torch

    before, after = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    torch.cuda._sleep(SLEEP_CYCLES)  # noqa: SLF001 - there is no public one
    before.record()
    started = time.perf_counter()
    for _ in range(repeats):
        call()
    host = (time.perf_counter() - started) / repeats
    after.record()
    after.synchronize()
    return before.elapsed_time(after) / 1000 / repeats, host


def measure(
    case: Case, contestants: dict[str, Call], timer: Any, rounds: int, repeats: int
) -> Iterator[dict[str, Any]]:
    """Let contestants take turns; a row for each."""
    for call in contestants.values():
        call()  # compiles, and warms up
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in contestants}
    names = list(contestants)
    for first in range(rounds):
        for at in range(len(names)):  # nobody always follows the same one
            name = names[(first + at) % len(names)]
            times[name].append(timer(contestants[name], repeats))
    best = {name: min(pair[0] for pair in pairs) for name, pairs in times.items()}
    for name, pairs in times.items():
        seconds = statistics.median(pair[0] for pair in pairs)
        share = statistics.median(top[0] / own[0] for top, own in zip(times[CEILING], pairs, strict=True))
        against = statistics.median(own[0] / ours[0] for ours, own in zip(times[OURS], pairs, strict=True))
        yield {
            "page": case.page,
            "blocks": case.blocks,
            "segments": case.segments,
            "bytes": case.bytes,
            "contestant": name,
            "seconds": seconds,
            "best_seconds": best[name],
            "gb_per_s": case.bytes / seconds / 1e9,
            "share_of_memset": share,
            "times_of_zero_blocks": against,
            "best_share_of_memset": best[CEILING] / best[name],
            "best_times_of_zero_blocks": best[name] / best[OURS],
            "host_us": statistics.median(pair[1] for pair in pairs) * 1e6,
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
    device = torch.device(kind, 0) if kind == "cuda" else torch.device(kind)
    buffer = torch.ones(int(arguments.memory * KIB**3) // 4, dtype=torch.int32, device=device).view(torch.uint8)
    of, timer = (cuda_contestants, time_on_device) if kind == "cuda" else (cpu_contestants, time_on_host)
    name = torch.cuda.get_device_name(0) if kind == "cuda" else f"{processor()}, {arguments.threads} threads"
    rows = []
    with torch.inference_mode():
        for case in cases(buffer, kind, arguments):
            contestants = of(case, arguments.threads)
            case.check(contestants[OURS])
            repeats = max(1, min(20, (4 << 20) // case.bytes))
            rows += measure(case, contestants, timer, arguments.rounds, repeats)
            print_rows(rows[-len(contestants) :])
    return {"device": name, "kind": kind, "torch": torch.__version__, "rows": rows}


def processor() -> str:
    """The processor's name."""
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines() if Path("/proc/cpuinfo").exists() else []
    return next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), platform.machine())


def print_rows(rows: list[dict[str, Any]]) -> None:
    """One case as a small table."""
    first = rows[0]
    print(f"{first['segments']} segments, {first['blocks']} blocks of {first['page'] // KIB} KiB")
    for row in rows:
        print(
            f"  {row['contestant']:<12} {row['seconds'] * 1e6:>10.1f} us {row['gb_per_s']:>8.1f} GB/s "
            f"{row['share_of_memset']:>6.0%} of memset (best {row['best_share_of_memset']:.0%}) "
            f"{row['times_of_zero_blocks']:>7.2f} x our time (best {row['best_times_of_zero_blocks']:.2f}) "
            f"{row['host_us']:>8.1f} us on the host"
        )


def plot(path: Path) -> Path:
    """Draw bandwidth over bytes a call, and return the picture's path."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    data = json.loads(path.read_text(encoding="utf-8"))
    figure, axes = plt.subplots(figsize=(8, 5))
    for name in dict.fromkeys(row["contestant"] for row in data["rows"]):
        own = sorted((row["bytes"], row["gb_per_s"]) for row in data["rows"] if row["contestant"] == name)
        axes.plot(*zip(*own, strict=True), ".", label=name)
    axes.set(xscale="log", yscale="log", xlabel="bytes zeroed by a call", ylabel="GB/s", title=data["device"])
    axes.legend()
    picture = path.with_suffix(".png")
    figure.savefig(picture, dpi=120, bbox_inches="tight")
    return picture


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
