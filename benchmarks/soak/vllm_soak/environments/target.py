# SPDX-License-Identifier: Apache-2.0
"""The Python that will run the engine, with this package in its reach."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

from vllm_soak.environments.bundle import overlay
from vllm_soak.environments.cache import ensure
from vllm_soak.environments.choose import Choice
from vllm_soak.environments.interpreter import Interpreter
from vllm_soak.environments.releases import Release
from vllm_soak.environments.uv_tool import Say, ignore


@dataclass(frozen=True, slots=True)
class Target:
    """How to start the engine's Python.

    Args:
        python: The Python.
        release: The engine that it has.
        variables: Environment variables to add when starting it.
        lock: What is installed there, where vllm-soak made it.
    """

    python: Path
    release: Release
    variables: dict[str, str] = field(default_factory=dict)
    lock: Path | None = None


def prepare(choice: Choice, overlay_folder: Path, on_progress: Say = ignore) -> Target:
    """Make the chosen engine ready to start.

    Args:
        choice: Which engine.
        overlay_folder: A folder of the run, for the entry points; used when the Python is the
            user's own, and kept as long as the engine runs.
        on_progress: Takes short lines of text while an environment is made.

    Raises:
        UsageError: No such release.
        EngineError: The release could not be installed.
    """
    if choice.interpreter is not None:
        return borrowed(choice.interpreter, choice.release, overlay_folder)
    environment = ensure(choice.release, choice.flavour, on_progress)
    return Target(environment.python, choice.release, {}, environment.lock)


def borrowed(interpreter: Interpreter, release: Release, folder: Path) -> Target:
    """A user's Python, with this package in front of its path."""
    path = os.pathsep.join(filter(None, [str(overlay(folder)), os.environ.get("PYTHONPATH")]))
    return Target(interpreter.path, release, {"PYTHONPATH": path})
