# SPDX-License-Identifier: Apache-2.0
"""uv as a child process: its lines go to whoever shows progress, its failure keeps its last words."""

from __future__ import annotations

import os
import subprocess
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path

import uv

from vllm_soak.environments.pip_settings import PipSettings, read_pip_settings
from vllm_soak.errors import EngineError

Say = Callable[[str], None]
# Each of these would send what is installed to another place than the one we name, or change what.
MISLEADING = (
    "UV_PYTHON",
    "UV_SYSTEM_PYTHON",
    "UV_PROJECT",
    "UV_WORKING_DIR",
    "UV_VENV_SEED",
    "UV_OVERRIDE",
    "VIRTUAL_ENV",
    "CONDA_PREFIX",
)
KEPT_LINES = 400
# It names the hidden folder that an environment is made in.
# uv lists every package it installs, well over a hundred; the lock has them.
DULL = ("Using Python", " + ", " - ", " ~ ")


class UvError(Exception):
    """uv gave up.

    Args:
        text: The last lines it wrote.
    """

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text


def find_uv() -> str:
    """The uv of this installation.

    Raises:
        EngineError: The package is there without its program.
    """
    try:
        return os.fspath(uv.find_uv_bin())
    except FileNotFoundError as error:
        raise EngineError(
            "the uv program is missing from this installation", "run pip install --force-reinstall uv"
        ) from error


@dataclass(frozen=True, slots=True)
class UvTool:
    """uv, working for one environment.

    Args:
        say: Takes each line that uv writes.
        lock: Descriptor that uv inherits, so that the environment stays locked until uv has ended.
        folder: Where uv runs; a project's configuration there would count, so it is the cache's.
    """

    say: Say
    lock: int
    folder: Path
    binary: str = field(default_factory=find_uv)

    def make_environment(self, folder: Path, python: Path) -> None:
        """Make an empty environment that may be moved afterwards."""
        self.run("venv", "--quiet", "--no-project", "--relocatable", "--python", str(python), str(folder))

    def install(self, python: Path, requirement: str, overrides: Path) -> None:
        """Install a requirement, taking packages from where pip would."""
        settings = read_pip_settings()
        command = ["pip", "install", "--python", str(python), "--overrides", str(overrides)]
        self.run(*command, *settings.arguments, requirement, settings=settings)

    def install_wheel(self, python: Path, wheel: Path, name: str) -> None:
        """Put a local wheel in the place of whatever is installed under its name; no network."""
        command = ["pip", "install", "--offline", "--no-index", "--no-deps", "--reinstall-package", name]
        self.run(*command, "--python", str(python), str(wheel))

    def freeze(self, python: Path) -> str:
        """What is installed, one `NAME==VERSION` a line."""
        return self.run("pip", "freeze", "--python", str(python), quiet=True)

    def run(self, *arguments: str, settings: PipSettings | None = None, quiet: bool = False) -> str:
        """Run uv to its end and return what it wrote.

        Raises:
            UvError: It ended with another status than 0.
        """
        process = subprocess.Popen(
            [self.binary, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL if quiet else subprocess.STDOUT,
            text=True,
            errors="replace",
            cwd=self.folder,
            env=environment(settings),
            pass_fds=(self.lock,),
        )
        return self.follow(process, ignore if quiet else self.say)

    def follow(self, process: subprocess.Popen[str], say: Say) -> str:
        """Pass on a process's lines until it ends; end it when this process is interrupted."""
        lines: deque[str] = deque(maxlen=None if say is ignore else KEPT_LINES)
        with process:
            try:
                for line in process.stdout or ():
                    lines.append(line)
                    if line.strip() and not line.startswith(DULL):
                        say(line.strip())
                status = process.wait()
            except BaseException:
                process.kill()
                raise
        if status:
            raise UvError("".join(lines))
        return "".join(lines)


def environment(settings: PipSettings | None) -> dict[str, str]:
    """The variables that uv runs with."""
    kept = {name: value for name, value in os.environ.items() if name not in MISLEADING}
    return {**kept, "NO_COLOR": "1", **(settings.variables if settings else {})}


def ignore(line: str) -> None:
    """Take a line and do nothing with it."""


def uv_version() -> str:
    """The version of uv."""
    return metadata.version("uv")
