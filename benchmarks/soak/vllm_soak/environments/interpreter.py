# SPDX-License-Identifier: Apache-2.0
"""An existing Python, and the engine installed in it; asked in one process, nothing imported."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from vllm_soak.environments.releases import ENGINES, PACKAGES, Release, join_or, newest_tested
from vllm_soak.errors import UsageError

OLDEST_PYTHON = (3, 10)
# A cold network file system takes seconds to start a Python.
PATIENCE = 120.0
# The engine counts when its metadata and a regular package are there: a folder that happens to be
# called `vllm` has neither, and the working folder is not searched at all. `find_spec` of a
# top-level name imports nothing.
QUESTION = f"""
import sys
sys.path[:] = [entry for entry in sys.path if entry]
import json
from importlib import metadata, util
found = None
for name, package in {PACKAGES!r}.items():
    try:
        version = metadata.version(name)
    except metadata.PackageNotFoundError:
        continue
    spec = util.find_spec(package)
    if spec is not None and spec.origin is not None:
        found = [name, version]
        break
sys.stdout.write("\\n" + json.dumps({{"python": list(sys.version_info[:3]), "engine": found}}) + "\\n")
"""


class Interpreter:
    """An existing Python.

    Args:
        path: The Python: a path, or a command on PATH. Links are kept, since a link is what makes
            an environment's Python its own.

    Attributes:
        path: Absolute path of the Python.
        python_version: For example `3.11.7`.
        engine: The engine release installed there, or None.

    Raises:
        UsageError: The path is not a Python of a supported version.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = locate(path)
        facts = ask(self.path)
        self.python_version = ".".join(str(part) for part in facts["python"])
        self.engine = Release(*facts["engine"]) if facts["engine"] else None
        if tuple(facts["python"]) < OLDEST_PYTHON:
            raise UsageError(f"{self.path} is Python {self.python_version}", "give one of Python 3.10 or later")

    def require_engine(self) -> Release:
        """The engine installed there.

        Raises:
            UsageError: There is none.
        """
        if self.engine is None:
            raise UsageError(
                f"{self.path} (Python {self.python_version}) has no engine installed",
                f"install {join_or(list(ENGINES))} there, or let vllm-soak make an environment with "
                f"--engine {newest_tested()}",
            )
        return self.engine


def this_interpreter() -> Interpreter:
    """The Python that runs the controller."""
    return Interpreter(sys.executable)


def locate(path: str | Path) -> Path:
    """Find a Python by path or by name on PATH, as an absolute path with its links kept.

    Raises:
        UsageError: Nothing is there, or nothing that can be run.
    """
    given = Path(path).expanduser()
    if given.is_dir():
        raise UsageError(
            f"{given} is a folder, not a Python", f"give the Python inside, for example {given}/bin/python"
        )
    found = shutil.which(given)
    if found is None:
        cause = "cannot be executed" if given.exists() else "does not exist"
        raise UsageError(f"the Python {given} {cause}", "give the path of a Python, for example .venv/bin/python")
    return Path(found).absolute()


def ask(python: Path) -> dict[str, Any]:
    """Ask a Python for its version and engine.

    Raises:
        UsageError: It does not answer as a Python does.
    """
    # `-X utf8` is refused by anything that is no Python, shells among them, before it runs the text.
    command = [str(python), "-X", "utf8", "-c", QUESTION]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=True)
        facts = json.loads(done.stdout.rstrip().rpartition("\n")[2])
        return {"python": facts["python"], "engine": facts["engine"]}
    except (OSError, subprocess.SubprocessError, ValueError, KeyError, TypeError) as error:
        raise UsageError(f"{python} does not answer as a Python ({why(error)})", "give the path of a Python") from error


def why(error: Exception) -> str:
    """What went wrong when a program was asked, in a few words."""
    if isinstance(error, subprocess.CalledProcessError):
        said = last_words(error.stderr or "")
        return f"exit status {error.returncode}" + (f", {said}" if said else "")
    if isinstance(error, subprocess.TimeoutExpired):
        return f"no answer within {error.timeout:.0f} s"
    if isinstance(error, OSError):
        return error.strerror or type(error).__name__
    return "unexpected output"


def last_words(stderr: str) -> str:
    """The line of an error output that says most: a traceback's last, any other's first."""
    lines = [line.strip() for line in stderr.splitlines() if line.strip()] or [""]
    return lines[-1 if lines[0].startswith("Traceback") else 0][:120].rstrip(".")
