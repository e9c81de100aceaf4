# SPDX-License-Identifier: Apache-2.0
"""`vllm-soak patches`: ask an engine's own Python what becomes of each patch there."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from rich.console import Console

from vllm_soak.environments.choose import choose
from vllm_soak.environments.target import Target, prepare
from vllm_soak.errors import EngineError, ExitCode
from vllm_soak.report.printable import printable

COLUMNS = {
    "name": "patch",
    "upstream": "upstream",
    "affected": "affected",
    "status": "status here",
    "defect": "defect seen",
    "reason": "why",
}
PATIENCE = 300.0  # seconds; importing an engine on a loaded machine takes up to one minute


def show_patches(engine: str | None, python: Path | None, console: Console, *, verify: bool) -> ExitCode:
    """Print the table for one engine.

    Raises:
        UsageError: The engine cannot be used as given.
        EngineError: The engine could not be installed or does not import.
    """
    choice = choose(engine=engine, python=python, driver="core")
    progress = Console(stderr=True)
    with tempfile.TemporaryDirectory(prefix="vllm-soak-") as folder:
        target = prepare(choice, Path(folder), lambda line: say(progress, line))
        rows = ask(target, folder, verify=verify, scheduler_only=choice.flavour == "scheduler")
    say(console, choice.reason)
    say(console, aligned(rows, verify=verify))
    return ExitCode.CLEAN


def say(console: Console, text: str) -> None:
    """Print text as it is: what is cut to a narrow terminal cannot be copied."""
    console.print(text, soft_wrap=True, highlight=False, markup=False)


def ask(target: Target, folder: str, *, verify: bool, scheduler_only: bool = False) -> list[dict[str, Any]]:
    """Run the query in the engine's Python.

    Args:
        target: The engine's Python.
        folder: An empty working folder, so that nothing there shadows the engine's packages.
        verify: Also run each behaviour check.
        scheduler_only: Its torch may be another than the engine wants.

    Raises:
        EngineError: It failed or took too long.
    """
    flags = ["--verify"] * verify + ["--scheduler-only"] * scheduler_only
    command = [str(target.python), "-m", "vllm_soak.patching", "--json", *flags]
    environment = {**os.environ, **target.variables, "VLLM_SOAK_PROBE": "0"}
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=PATIENCE, cwd=folder, env=environment, check=True
        )
    except subprocess.TimeoutExpired as error:
        raise EngineError(
            f"{target.release} did not answer within {PATIENCE:.0f} s", "try again when the machine is less busy"
        ) from error
    except subprocess.CalledProcessError as error:
        last = (error.stderr.strip().splitlines() or ["no message"])[-1]
        raise EngineError(
            f"{target.release} could not be asked for its patches ({last})", "check that it imports in that Python"
        ) from error
    rows: list[dict[str, Any]] = json.loads(done.stdout)
    return rows


def aligned(rows: list[dict[str, Any]], *, verify: bool) -> str:
    """The rows as columns of text."""
    columns = {name: title for name, title in COLUMNS.items() if verify or name != "defect"}
    lines = [list(columns.values()), *([printable(row.get(name, "")) for name in columns] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join("  ".join(map(str.ljust, line, widths)).rstrip() for line in lines)
