# SPDX-License-Identifier: Apache-2.0
"""What a process is to the engine, told from its title or command line.

vLLM names its processes `VLLM::EngineCore`, `VLLM::EngineCore_DP1`, `VLLM::Worker_TP0` and so on; a single API
server keeps the command line that it was started with.
"""

from __future__ import annotations

from itertools import pairwise
from pathlib import PurePath

from vllm_soak.observe.proc_stat import read_text

TITLE = "VLLM::"
API_SERVER = "APIServer"
# Modules of API servers, and what multiprocessing's own helpers run.
SERVERS = (
    "vllm.entrypoints.openai.api_server",
    "vllm.entrypoints.cli.main",
    "vllm_mlx.server",
    "vllm_mlx.cli",
    "vllm_soak.engines.mlx.server",
)
# How the names of the programs begin that take `serve`.
PROGRAMS = ("vllm", "rapid-mlx", "rmlx")
# Starts a server with the command line that follows, as `timeout` or `uv run` do.
GUARDIAN = "vllm_soak.engines.serve.guardian"
HELPERS = (
    ("multiprocessing.resource_tracker", "resource-tracker"),
    ("multiprocessing.forkserver", "fork-server"),
    ("multiprocessing.spawn", "spawned"),
)


def role_of(pid: int) -> str:
    """Return a process's role, an empty string when it is gone."""
    line = read_text(f"/proc/{pid}/cmdline").rstrip("\0 ")
    if not line:
        return read_text(f"/proc/{pid}/comm").strip()
    return role_of_command(line.split("\0"))


def role_of_command(words: list[str]) -> str:
    """Return the role that a title (one word) or a command line shows."""
    if words[0].startswith(TITLE):
        return words[0].removeprefix(TITLE).split()[0]
    text = " ".join(words)
    helper = next((name for module, name in HELPERS if module in text), "")
    if helper:
        return helper
    return API_SERVER if is_server(words) else program(words)


def is_server(words: list[str]) -> bool:
    """Whether a process is an API server by its command line: a module of one, `vllm serve` or `rapid-mlx serve`.

    A program that runs another (`timeout 1h vllm serve`) has its words, and is none.
    """
    module = module_of(words)
    if module == GUARDIAN or not PurePath(words[0]).name.lower().startswith(("python", *PROGRAMS)):
        return False
    if module in SERVERS:
        return True
    names = [PurePath(word).name for word in words]
    return any(one.startswith(PROGRAMS) and after == "serve" for one, after in pairwise(names))


def is_engine(role: str) -> bool:
    """Whether a role is one of the engine's own, not a helper or a tool that it calls."""
    return role == API_SERVER or role.startswith((API_SERVER, "EngineCore", "Worker", "DPCoordinator", "DP_Coord"))


def is_helper(role: str) -> bool:
    """Whether a role is that of multiprocessing's own helpers, of which there is nothing to say."""
    return role.partition("#")[0] in {"resource-tracker", "fork-server"}


def program(words: list[str]) -> str:
    """Return the name of the module or script that an interpreter runs, else of the program."""
    module = module_of(words)
    if module:
        return module
    name = PurePath(words[0]).name
    scripts = [PurePath(word).name for word in words[1:] if not word.startswith("-")]
    return scripts[0] if name.startswith("python") and scripts and "-c" not in words else name


def module_of(words: list[str]) -> str:
    """Return the module after `-m`, or an empty string."""
    return words[words.index("-m") + 1] if "-m" in words[:-1] else ""
