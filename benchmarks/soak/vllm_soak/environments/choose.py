# SPDX-License-Identifier: Apache-2.0
"""Which engine a command works on, and why that one."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from vllm_soak.environments.interpreter import Interpreter, this_interpreter
from vllm_soak.environments.recipe import Flavour, supported_flavour, untested_notice
from vllm_soak.environments.releases import Release, newest_tested, parse_release
from vllm_soak.errors import UsageError


@dataclass(frozen=True, slots=True)
class Choice:
    """The engine to work on.

    Args:
        release: Its name and version.
        interpreter: The existing Python that has it, or None when vllm-soak makes its environment.
        flavour: The environment to make.
        reason: Which engine and why, in one sentence.
    """

    release: Release
    interpreter: Interpreter | None
    flavour: Flavour
    reason: str


def choose(*, engine: str | None = None, python: str | Path | None = None, driver: str = "inproc") -> Choice:
    """Pick the engine from the flags of a command.

    Args:
        engine: `--engine NAME==VERSION`.
        python: `--python PATH`.
        driver: `--driver`; `core` runs the scheduler only.

    Raises:
        UsageError: Both flags were given, or one of them cannot be used as given.
    """
    if engine is not None and python is not None:
        raise UsageError("--engine and --python exclude each other", "give one of them")
    if python is not None:
        return existing(Interpreter(python), "as --python says")
    if engine is not None:
        return made(parse_release(engine), driver, "as --engine says")
    here = this_interpreter()
    if here.engine is not None:
        return existing(here, "because it is installed in the Python that runs vllm-soak")
    return made(newest_tested(), driver, "the newest release that this project is tested with, because none is here")


def existing(interpreter: Interpreter, why: str) -> Choice:
    """The engine of an existing Python."""
    release = interpreter.require_engine()
    reason = f"using {release} of {interpreter.path}, {why}{caution(release)}"
    return Choice(release, interpreter, "full", reason)


def made(release: Release, driver: str, why: str) -> Choice:
    """An engine in an environment that vllm-soak makes."""
    flavour = supported_flavour(release, "scheduler" if driver == "core" else "full")
    reason = f"using {release} in an environment of its own, {why}{caution(release)}"
    return Choice(release, None, flavour, reason)


def caution(release: Release) -> str:
    """The end of the sentence for a release that this project is not tested with."""
    return " (not tested with this project)" if untested_notice(release) else ""
