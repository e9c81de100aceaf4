# SPDX-License-Identifier: Apache-2.0
"""`python -m vllm_soak.probe SCRIPT [ARGUMENTS]` (or `-m MODULE`): run a program with the probe in it."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

from vllm_soak.probe import arm

USAGE = "usage: python -m vllm_soak.probe [-m MODULE | SCRIPT] [ARGUMENTS...]"


def main(arguments: list[str]) -> None:
    """Arm the probe, then become the program: same arguments, same `__main__`, same import path.

    Raises:
        SystemExit: There is no program to run; whatever the program itself raises passes through.
    """
    as_module = arguments[:1] == ["-m"]
    program = arguments[1:] if as_module else arguments
    if not program:
        sys.exit(USAGE)
    arm()
    sys.argv[:] = program
    if as_module:
        runpy.run_module(program[0], run_name="__main__", alter_sys=True)
    else:
        sys.path[0] = str(Path(program[0]).resolve().parent)
        runpy.run_path(program[0], run_name="__main__")


if __name__ == "__main__":
    main(sys.argv[1:])
