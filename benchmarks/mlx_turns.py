# SPDX-License-Identifier: Apache-2.0
r"""The table of the original report: memory after each turn of a growing conversation, without and with the patches.

    python benchmarks/mlx_turns.py
    python benchmarks/mlx_turns.py --release vllm-mlx==0.4.1 --model tiny:qwen3_5 \
      --engine-args '{"use_memory_aware_cache": false, "cache_memory_mb": 4}' --turns 10 --tokens 500

Each column is a process of its own with the same tiny model and the same conversation; megabytes are those over
the idle engine, from mlx's own count. Outputs of the two are compared.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from vllm_soak.engines.launch import mlx_environment
from vllm_soak.engines.models.build import resolve
from vllm_soak.environments.cache import ensure

RELEASES = ("rapid-mlx==0.12.18", "rapid-mlx==0.13.1", "rapid-mlx==0.13.2")
MB = 1e6
COLUMNS = ("none", "all")


def talk(release: str, patches: str, folder: Path, arguments: argparse.Namespace) -> dict[str, Any]:
    """One conversation with one engine, in its own environment."""
    words = ["--turns", arguments.turns, "--tokens", arguments.tokens, "--output-len", arguments.output_len]
    words += ["--conversations", arguments.conversations, "--engine-args", arguments.engine_args]
    model = resolve(arguments.model, folder / "models")
    done = subprocess.run(
        [str(ensure(release, on_progress=print).python), "-m", "vllm_soak.engines.mlx", model, *map(str, words)],
        env=os.environ | mlx_environment(folder / "home") | {"VLLM_SOAK_PATCHES": patches, "HF_HUB_OFFLINE": "1"},
        cwd=folder,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        timeout=arguments.limit,
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def table(release: str, found: dict[str, dict[str, Any]]) -> str:
    """One release as Markdown."""
    kinds = ("MB", "SSM arrays", "KV arrays", "MTP entries", "cache entries", "MB as the cache counts")
    lines = [
        f"{release}, {found['all']['facts']['model'].rpartition('/')[2]}",
        "",
        "| turn | " + " | ".join(f"{kind}, patches {one}" for one in COLUMNS for kind in kinds) + " |",
        "|---:|" + "---:|" * (len(kinds) * len(COLUMNS)),
    ]
    for turn in range(len(found["none"]["turns"])):
        cells = [cell for one in COLUMNS for cell in row(found[one]["turns"], turn)]
        lines.append(f"| {turn} | " + " | ".join(cells) + " |")
    same = "the same" if found["none"]["replies"] == found["all"]["replies"] else "DIFFERENT"
    speed = ", ".join(f"{one}: {found[one]['seconds']:.1f} s" for one in COLUMNS)
    steps = [found[one]["turns"][-1].get("mtp_vendored_steps") for one in COLUMNS]
    return "\n".join(
        [*lines, "", f"Outputs {same}; {speed}; speculative steps {steps}; patches {found['all']['patches']}", ""]
    )


def row(turns: list[dict[str, float]], turn: int) -> list[str]:
    """The cells of one turn in one column."""
    one = turns[turn]
    counts = ("ssm_arrays", "kv_arrays", "mtp_entries", "prefix_entries")
    return [
        f"{(one['mlx_active'] - turns[0]['mlx_active']) / MB:+.3f}",
        *(f"{one.get(name, 0):.0f}" for name in counts),
        f"{one['prefix_bytes'] / MB:.3f}" if "prefix_bytes" in one else "",
    ]


def main() -> None:
    """Read the command line, and print a table for each release."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--release", action="append", help=f"default: {', '.join(RELEASES)}")
    parser.add_argument("--model", default="tiny:qwen3_5-mtp")
    parser.add_argument("--turns", type=int, default=8)
    parser.add_argument("--tokens", type=int, default=500)
    parser.add_argument("--output-len", type=int, default=16)
    parser.add_argument("--conversations", type=int, default=1)
    parser.add_argument("--engine-args", default='{"enable_prefix_cache": false}')
    parser.add_argument("--limit", type=int, default=900, help="seconds for one conversation")
    parser.add_argument("--out", type=Path, help="also write everything as JSON")
    arguments = parser.parse_args()
    everything = {}
    with tempfile.TemporaryDirectory(prefix="vllm-soak-") as folder:
        for release in arguments.release or RELEASES:
            everything[release] = {one: talk(release, one, Path(folder), arguments) for one in COLUMNS}
            print(table(release, everything[release]), flush=True)
    if arguments.out:
        arguments.out.write_text(json.dumps(everything) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
