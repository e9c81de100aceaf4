# SPDX-License-Identifier: Apache-2.0
"""What the step watch tells of runs that are stored: to try other thresholds on latencies of a real server.

    python benchmarks/replay_steps.py RUN_FOLDER... [--after SECONDS] [--slow-down SECONDS]

Reads the points of each run as they came in and prints each step with the seconds that it took to be told. The warm-up
is left out: up to `--after` seconds, or up to the last sample of the warm-up where a run has one. Runs of
`live_steps.py` say themselves when the server was slowed down; for others `--slow-down` says it. Of runs longer than
two hours the store does not keep every second, so they are replayed less exactly.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from live_steps import RESULT

from vllm_soak.steps.feed import replay
from vllm_soak.store.reader import read_run
from vllm_soak.store.record import WARM_UP, Arm


def warm_until(arm: Arm) -> float:
    """When the warm-up was over: its last sample, 0 without any."""
    return max((one.elapsed for one in arm.samples if one.phase == WARM_UP), default=0.0)


def lines(folder: Path, after: float | None, slow_down: float | None) -> list[str]:
    """What is told of a run, a line each."""
    found = []
    run = read_run(folder)
    live = folder / RESULT
    if live.exists():
        slow_down = json.loads(live.read_text())["slow_down"]
    for arm in run.arms:
        after_warm_up = warm_until(arm) if after is None else after
        for step in replay(arm.points, after_warm_up):
            whose = "others" if step.contention else "server"
            late = step.seen - (step.elapsed if slow_down is None or step.seen < slow_down else slow_down)
            early = " BEFORE the slow-down" if slow_down is not None and step.seen < slow_down else ""
            found.append(
                f"  {arm.name}: at {step.elapsed:.0f} s, told after {late:.0f} s, {whose}{early}: {step.reason}"
            )
    return found


def main() -> None:
    """Print the steps of each run."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("runs", type=Path, nargs="+")
    parser.add_argument("--after", type=float)
    parser.add_argument("--slow-down", type=float)
    options = parser.parse_args()
    for folder in options.runs:
        told = lines(folder, options.after, options.slow_down)
        print(f"{folder}: {len(told)} steps", *told, sep="\n", flush=True)


if __name__ == "__main__":
    main()
