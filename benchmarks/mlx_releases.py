# SPDX-License-Identifier: Apache-2.0
"""Every release of the engines on mlx with a short conversation, as released and patched: what each patch says there.

    python benchmarks/mlx_releases.py
    python benchmarks/mlx_releases.py vllm-mlx==0.4.1 rapid-mlx==0.13.1

The model is the hybrid one with an MTP head where the engine has heads, else without; the prefix cache is off. Prints a
row as each release is done: memory over the idle engine after the last turn without and with the patches, whether
outputs are the same, and the status of each patch. The exit code is 0 when outputs are the same everywhere.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from mlx_turns import MB, talk

from vllm_soak.environments.releases import TESTED_MLX
from vllm_soak.errors import SoakError
from vllm_soak.patching.registry import known

HEADED, HEADLESS = "tiny:qwen3_5-mtp", "tiny:qwen3_5"
PATCHES = tuple(patch.name for patch in known("vllm_mlx"))
HEAD = ("release", "mlx-lm", "model", "as released, MB", "patched, MB", "outputs", *PATCHES)


def row(release: str, folder: Path, arguments: argparse.Namespace) -> tuple[str, ...]:
    """One release."""
    model = HEADED if release.startswith("rapid-mlx") else HEADLESS
    arguments.model = model
    try:
        found = {one: talk(release, one, folder, arguments) for one in ("none", "all")}
    except (SoakError, subprocess.SubprocessError) as error:
        return (release, "", model, *[""] * 2, f"failed: {error}", *[""] * len(PATCHES))
    same = found["none"]["replies"] == found["all"]["replies"]
    over = [f"{grown(found[one]['turns']):+.3f}" for one in ("none", "all")]
    statuses = found["all"]["patches"]
    version = found["all"]["facts"]["mlx_lm"]
    return (release, version, model, *over, "same" if same else "DIFFERENT", *(statuses[name] for name in PATCHES))


def grown(turns: list[dict[str, Any]]) -> float:
    """Megabytes over the idle engine after the last turn."""
    return float(turns[-1]["mlx_active"] - turns[0]["mlx_active"]) / MB


def main() -> int:
    """Read the command line, run the releases, print the table; answer the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("releases", nargs="*", metavar="NAME==VERSION", help="all by default")
    parser.add_argument("--turns", type=int, default=4)
    parser.add_argument("--tokens", type=int, default=200)
    parser.add_argument("--output-len", type=int, default=12)
    parser.add_argument("--limit", type=int, default=300, help="seconds for one conversation")
    arguments = parser.parse_args()
    arguments.conversations, arguments.engine_args = 1, '{"enable_prefix_cache": false}'
    every = [f"{name}=={version}" for name, versions in TESTED_MLX.items() for version in versions]
    print("| " + " | ".join(HEAD) + " |\n|" + "---|" * len(HEAD), flush=True)
    right = True
    with tempfile.TemporaryDirectory(prefix="vllm-soak-") as folder:
        for release in arguments.releases or every:
            cells = row(release, Path(folder), arguments)
            right = right and "same" in cells
            print("| " + " | ".join(cells) + " |", flush=True)
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
