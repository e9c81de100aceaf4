# SPDX-License-Identifier: Apache-2.0
"""`python -m vllm_soak.patched COMMAND [ARGUMENTS...]`: run an engine that knows no plugins, with the patches in it.

COMMAND is a console script of this Python's environment (`rapid-mlx`), `-m MODULE`, or the path of a script. What is
selected by `VLLM_SOAK_PATCHES` is applied before the engine is imported by anybody else, and each patch's status is
told by name on standard error; `VLLM_SOAK_PROBE` arms the probe as in vLLM's processes.
"""

from __future__ import annotations

import importlib.metadata
import logging
import sys
import sysconfig
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from vllm_soak.errors import ExitCode
from vllm_soak.patching.engine import is_importable
from vllm_soak.patching.status import LOGGER
from vllm_soak.probe import plugin
from vllm_soak.probe.__main__ import become, come_first, module_named, script_at

if TYPE_CHECKING:
    from collections.abc import Callable

USAGE = "usage: python -m vllm_soak.patched [--] COMMAND [ARGUMENTS...], where COMMAND is like rapid-mlx or -m MODULE"
# vLLM loads the patches by itself; it is here for a command line that serves all engines.
ENGINES = ("vllm_mlx", "vllm")


def main(arguments: list[str]) -> None:
    """Apply the patches, then become the program.

    Raises:
        SystemExit: There is no engine or no program here; whatever the program itself raises passes through.
    """
    program = arguments[1:] if arguments[:1] == ["--"] else arguments
    if not [word for word in program if word != "-m"]:
        refuse(USAGE)
    if program[0] != "-m":
        # As the program itself begins: patches import the engine, which must not come from the working directory.
        come_first(sysconfig.get_path("scripts"))
    prepare()
    run(program)


def prepare() -> None:
    """Apply the patches, arm the probe, and have its samples tell what the engine's scheduler keeps.

    Raises:
        SystemExit: No engine is installed for this Python.
    """
    engine = next(filter(is_importable, ENGINES), None)
    if engine is None:
        refuse(f"vllm_soak.patched: {sys.executable} has no engine: run this with the engine's own Python.")
    if engine == "vllm_mlx":
        speak()
        plugin.load(engine)
        from vllm_soak.engines.mlx.served import watch

        watch()
        return
    plugin.load(engine)


def speak() -> None:
    """Have the line of statuses shown: nobody configures our logger in an engine without vLLM's own logging."""
    if not LOGGER.handlers:
        handler = logging.StreamHandler()
        handler.setFormatter(logging.Formatter("%(levelname)s:%(name)s:%(message)s"))
        LOGGER.addHandler(handler)
        LOGGER.setLevel(logging.INFO)
        LOGGER.propagate = False


def run(program: list[str]) -> None:
    """Run a command in this process: same arguments, same exit code.

    Raises:
        SystemExit: With the program's exit code, or there is no such program.
    """
    as_module = program[0] == "-m"
    sys.argv[:] = program[1:] if as_module else program
    if as_module:
        become(*module_named(program[1]))
        return
    command = console_script(program[0])
    if command is not None:
        sys.exit(command())
    if not Path(program[0]).is_file():
        refuse(f"vllm_soak.patched: {program[0]!r} is neither a console script of {sys.executable} nor a file: {USAGE}")
    become(*source_at(program[0]))


def source_at(path: str) -> tuple[Any, dict[str, Any]]:
    """A script's code and first names, as of `script_at`.

    Raises:
        SystemExit: The file cannot be compiled.
    """
    try:
        return script_at(path)
    except (SyntaxError, ValueError) as error:  # the latter of CPython up to 3.11 where there are null bytes
        refuse(f"vllm_soak.patched: {path!r} cannot be compiled as Python ({error}): {USAGE}")


def console_script(name: str) -> Callable[[], Any] | None:
    """The function behind a console script of this environment; None when there is none of that name."""
    for entry in importlib.metadata.entry_points(group="console_scripts"):
        if entry.name == name:
            found: Callable[[], Any] = entry.load()
            return found
    return None


def refuse(sentence: str) -> NoReturn:
    """End with a sentence on standard error.

    Raises:
        SystemExit: Always.
    """
    sys.stderr.write(f"{sentence}\n")
    sys.exit(ExitCode.USAGE)


if __name__ == "__main__":
    main(sys.argv[1:])
