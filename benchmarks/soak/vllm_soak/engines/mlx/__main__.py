# SPDX-License-Identifier: Apache-2.0
"""`python -m vllm_soak.engines.mlx MODEL`: one growing conversation, and what the engine holds after each turn.

Patches are those of VLLM_SOAK_PATCHES. The answer is one JSON object on standard output: `facts`, `patches`, and
`turns`, the first of which is the idle engine before any.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import sys
import time
from typing import Any

from vllm_soak.engines.mlx.driver import COMPILE, MlxEngine
from vllm_soak.engines.mlx.observe import observe
from vllm_soak.engines.mlx.turns import chat
from vllm_soak.patching.apply import apply_selected


def main() -> None:
    """Talk, then tell."""
    options = _options()
    os.environ.setdefault(COMPILE, "1")
    with contextlib.redirect_stdout(sys.stderr):  # engines write to standard output
        statuses = apply_selected(engine="vllm_mlx")
        found = talk(options)
    found["patches"] = {status.name: status.status.value for status in statuses}
    sys.stdout.write(json.dumps(found) + "\n")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m vllm_soak.engines.mlx", description=__doc__)
    parser.add_argument("model", help="model folder")
    parser.add_argument("--turns", type=int, default=8)
    parser.add_argument("--tokens", type=int, default=500, help="new ones in each turn")
    parser.add_argument("--output-len", type=int, default=16)
    parser.add_argument("--conversations", type=int, default=1)
    parser.add_argument("--engine-args", default="{}", help="fields of the engine's SchedulerConfig, as JSON")
    return parser.parse_args()


def talk(options: argparse.Namespace) -> dict[str, Any]:
    """Hold the conversation; a row of figures after each turn."""
    engine = MlxEngine(options.model, json.loads(options.engine_args))
    rows = [observe(engine.scheduler)]
    started = time.perf_counter()
    replies = chat(
        engine,
        turns=options.turns,
        tokens=options.tokens,
        output_len=options.output_len,
        conversations=options.conversations,
        after=lambda: rows.append(observe(engine.scheduler)),
    )
    seconds = time.perf_counter() - started
    return {"facts": engine.facts(), "turns": rows, "replies": replies, "seconds": seconds}


if __name__ == "__main__":
    main()
