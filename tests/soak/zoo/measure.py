# SPDX-License-Identifier: Apache-2.0
"""Measure one module of the zoo in this process, and leave what was measured in a file: `measure.py MODULE FILE`."""

from __future__ import annotations

import importlib
import os
import pickle
import sys
from pathlib import Path

import vllm_soak

WARM_UP = 2
ROUNDS = 5


def main(module: Path, result: Path) -> None:
    """Do the module's work in identical rounds; its name is the root of its paths."""
    sys.path.insert(0, str(module.parent))
    specimen = importlib.import_module(module.stem)
    growth = vllm_soak.growth(warm_up=WARM_UP)
    growth.run(specimen.step, rounds=ROUNDS, max_rounds=getattr(specimen, "MOST_ROUNDS", ROUNDS))
    result.write_bytes(pickle.dumps(growth.arm))
    # Threads that never end, coroutines that were never awaited: not to be waited for, nor warned of.
    os._exit(0)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
