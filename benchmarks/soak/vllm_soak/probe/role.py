# SPDX-License-Identifier: Apache-2.0
"""What this process is to the engine."""

from __future__ import annotations

import multiprocessing
import os
import sys
from pathlib import Path

VARIABLE = "VLLM_SOAK_ROLE"
# vLLM titles its processes `VLLM::EngineCore`, `VLLM::Worker_TP0`; those who look from outside know them by that.
TITLE = "VLLM::"
_SERVERS = ("vllm.entrypoints.openai.api_server", "vllm.entrypoints.cli.serve")


def role() -> str:
    """`EngineCore`, `Worker...`, `APIServer`, `LLM`, or what the process that hosts the engine calls itself.

    A child is called what the engine called it, by its title if it has one: `Worker_TP0` is `VllmWorker-0` to
    multiprocessing. The variable speaks for the outermost process only, since every child inherits it. A process
    without an engine is called by its script.
    """
    if multiprocessing.parent_process() is not None:
        return _titled() or multiprocessing.current_process().name
    return os.environ.get(VARIABLE) or _outermost()


def _titled() -> str:
    """What this process's title says; an empty string when it still is its command line."""
    try:
        words = Path("/proc/self/cmdline").read_text(encoding="utf-8", errors="replace").strip("\0 ").split()
    except OSError:
        return ""
    return words[0][len(TITLE) :] if words and words[0].startswith(TITLE) else ""


def _outermost() -> str:
    if _is_server():
        return "APIServer"
    return "LLM" if "vllm" in sys.modules else _script()


def _script() -> str:
    """Name of the script; `Python` where there is none (`-c`, an interactive session)."""
    name = Path(sys.argv[0]).name if sys.argv else ""
    return name if name.endswith(".py") else "Python"


def _is_server() -> bool:
    spec = getattr(sys.modules.get("__main__"), "__spec__", None)
    return getattr(spec, "name", "") in _SERVERS or any(argument == "serve" for argument in sys.argv[1:2])
