# SPDX-License-Identifier: Apache-2.0
"""The engine's side of `mlx_speed.py`: neighbouring blocks of the same work with a patch off and on, in one process.

    python mlx_pairs.py MODEL '{"patches": ["mtp-state"], "pairs": 20, "engine_args": {...}}'

Each block is one conversation, the same every time. Without patches the pairs compare the engine with itself. Answers
one JSON object on standard output: tokens a second of each block, and drafted and accepted tokens
with patches off and on.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import time
from collections import Counter
from typing import Any

from vllm_soak.engines.mlx.driver import COMPILE, MlxEngine
from vllm_soak.engines.mlx.observe import drafts
from vllm_soak.engines.mlx.scheduler import prefix_cache
from vllm_soak.engines.mlx.turns import chat
from vllm_soak.patching.apply import apply_patch, undo
from vllm_soak.patching.engine import installed_release
from vllm_soak.patching.registry import by_name

TALK: dict[str, Any] = {"turns": 4, "tokens": 60, "output_len": 24}


def switch(names: list[str], *, on: bool) -> None:
    """Apply the patches, or take them back."""
    for name in names:
        if on:
            status = apply_patch(by_name(name), installed_release("vllm_mlx"))
            assert status.status.value == "applied", status
        else:
            undo(by_name(name))


def block(engine: MlxEngine, counted: Counter[str]) -> tuple[float, list[list[int]]]:
    """Tokens a second of one conversation with an empty prefix cache, and its replies."""
    cache = prefix_cache(engine.scheduler)
    if cache is not None:
        cache.clear()
    before, began = drafts(), time.perf_counter()
    replies = chat(engine, **TALK)
    seconds = time.perf_counter() - began
    counted.update({name: int(value - before.get(name, 0)) for name, value in drafts().items()})
    return sum(map(len, replies)) / seconds, replies


def pairs(model: str, order: dict[str, Any]) -> dict[str, Any]:
    """All blocks; which of a pair leads alternates."""
    names = order["patches"]
    switch(names, on=True)  # what is set up when an engine is made is there in both halves
    engine = MlxEngine(model, order["engine_args"])
    counted: dict[bool, Counter[str]] = {False: Counter(), True: Counter()}
    rates, seen = [], []
    for on in (False, True):
        switch(names, on=on)
        block(engine, Counter())
    for pair in range(order["pairs"]):
        found = {}
        for on in (False, True) if pair % 2 else (True, False):
            switch(names, on=on)
            found[on], replies = block(engine, counted[on])
            seen.append(replies)
        rates.append([found[False], found[True]])
    same = all(one == seen[0] for one in seen)
    return {"rates": rates, "same": same, "off": counted[False], "on": counted[True]}


def main() -> None:
    """Run, then tell."""
    os.environ.setdefault(COMPILE, "1")
    with contextlib.redirect_stdout(sys.stderr):
        found = pairs(sys.argv[1], json.loads(sys.argv[2]))
    sys.stdout.write(json.dumps(found) + "\n")


if __name__ == "__main__":
    main()
