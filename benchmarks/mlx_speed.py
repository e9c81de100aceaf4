# SPDX-License-Identifier: Apache-2.0
"""What each patch for engines on mlx costs: tokens a second with it over without it, in one process, beside a control.

    python benchmarks/mlx_speed.py --release rapid-mlx==0.12.18

Blocks of the same conversation alternate between off and on; the ratio is the median of neighbouring pairs, with the
interval of ranks that holds it 95 times of 100. The control switches nothing. Also compares the share of drafted tokens
that were accepted, and all outputs.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import tempfile
from pathlib import Path
from statistics import median
from typing import Any

from vllm_soak.engines.launch import mlx_environment
from vllm_soak.engines.models.build import resolve
from vllm_soak.environments.cache import ensure
from vllm_soak.verdict.compare import median_interval

HERE = Path(__file__).resolve().parent
# The depth of drafting is fixed: left to itself it follows measured times, and with them the number of drafts.
SPECULATING: dict[str, Any] = {"enable_prefix_cache": False, "mtp_disable_auto_k": True, "mtp_max_k": 1}
COUNTED = {"use_memory_aware_cache": False, "cache_memory_mb": 64}
# What is switched, on which model, with which settings of the engine.
CASES = (
    ("control", [], "tiny:qwen3_5-mtp", SPECULATING),
    ("mtp-state", ["mtp-state"], "tiny:qwen3_5-mtp", SPECULATING),
    ("batch-lists", ["batch-lists"], "tiny:qwen3_5-mtp", SPECULATING),
    ("singleton-cycle", ["singleton-cycle"], "tiny:qwen3_5-mtp", SPECULATING),
    ("prefix-cache-bytes", ["prefix-cache-bytes"], "tiny:qwen3_5", COUNTED),
    ("hybrid-disk-tier", ["hybrid-disk-tier"], "tiny:qwen3_5", {**COUNTED, "kv_disk_checkpoint_interval": 64}),
)


def measure(release: str, case: tuple[str, list[str], str, dict[str, Any]], count: int, folder: Path) -> dict[str, Any]:
    """The pairs of one case."""
    _, names, model, engine_args = case
    order = {"patches": names, "pairs": count, "engine_args": engine_args}
    done = subprocess.run(
        [
            str(ensure(release, on_progress=print).python),
            HERE / "mlx_pairs.py",
            resolve(model, folder),
            json.dumps(order),
        ],
        env=os.environ | mlx_environment(folder / "home") | {"VLLM_SOAK_PATCHES": "none", "HF_HUB_OFFLINE": "1"},
        cwd=folder,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def row(name: str, found: dict[str, Any]) -> str:
    """One case as a row of Markdown."""
    ratios = sorted(on / off for off, on in found["rates"])
    low, high = median_interval(ratios)
    spread = f"{median(ratios):.3f} | {low:.3f} to {high:.3f} | {len(ratios)}"
    return f"| {name} | {spread} | {accepted(found['off'])} | {accepted(found['on'])} | {found['same']} |"


def accepted(counted: dict[str, int]) -> str:
    """Accepted of drafted tokens."""
    return f"{counted['mtp_accepts']} of {counted['mtp_attempts']}" if counted.get("mtp_attempts") else ""


def main() -> None:
    """Read the command line, and print a row for each case as it is done."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--release", default="rapid-mlx==0.12.18")
    parser.add_argument("--pairs", type=int, default=20)
    parser.add_argument("--case", action="append", help="default: all of them")
    arguments = parser.parse_args()
    print("| patch | on / off | 95 % interval | pairs | accepted, off | accepted, on | outputs same |", flush=True)
    print("|---|---:|---:|---:|---:|---:|---|", flush=True)
    with tempfile.TemporaryDirectory(prefix="vllm-soak-") as folder:
        for case in CASES:
            if case[0] in (arguments.case or [case[0]]):
                print(row(case[0], measure(arguments.release, case, arguments.pairs, Path(folder))), flush=True)


if __name__ == "__main__":
    main()
