# SPDX-License-Identifier: Apache-2.0
"""What this process is to the engine."""

from __future__ import annotations

import multiprocessing
import os
import sys

VARIABLE = "VLLM_SOAK_ROLE"
_SERVERS = ("vllm.entrypoints.openai.api_server", "vllm.entrypoints.cli.serve")


def role() -> str:
    """`EngineCore`, `Worker...`, `APIServer`, `LLM`, or what the process that hosts the engine calls itself.

    A child is called what the engine called it; the variable speaks for the outermost process only,
    since every child inherits it.
    """
    if multiprocessing.parent_process() is not None:
        return multiprocessing.current_process().name
    return os.environ.get(VARIABLE) or ("APIServer" if _is_server() else "LLM")


def _is_server() -> bool:
    spec = getattr(sys.modules.get("__main__"), "__spec__", None)
    return getattr(spec, "name", "") in _SERVERS or any(argument == "serve" for argument in sys.argv[1:2])
