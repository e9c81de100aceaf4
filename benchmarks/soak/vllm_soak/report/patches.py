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
from rich.table import Table

from vllm_soak.environments.choose import choose
from vllm_soak.environments.target import Target, prepare
from vllm_soak.errors import EngineError, ExitCode

COLUMNS = {"name": "patch", "upstream": "upstream", "affected": "affected", "status": "status here", "reason": "why"}
PATIENCE = 300.0  # seconds; importing an engine on a loaded machine takes up to one minute


def show_patches(engine: str | None, python: Path | None, console: Console, *, verify: bool) -> ExitCode:
    """Print the table for one engine.

    Raises:
        UsageError: The engine cannot be used as given.
        EngineError: The engine could not be installed or does not import.
    """
    choice = choose(engine=engine, python=python, driver="core")
    console.print(choice.reason, highlight=False, markup=False, soft_wrap=True)
    with tempfile.TemporaryDirectory(prefix="vllm-soak-") as folder:
        target = prepare(choice, Path(folder), lambda line: console.print(line, markup=False, highlight=False))
        rows = ask(target, folder, verify=verify, scheduler_only=choice.flavour == "scheduler")
    console.print(table(rows, verify=verify))
    return ExitCode.CLEAN


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


def table(rows: list[dict[str, Any]], *, verify: bool) -> Table:
    """The rows for a terminal."""
    columns = {**COLUMNS, "defect": "defect seen"} if verify else COLUMNS
    shown = Table(*columns.values())
    for row in rows:
        shown.add_row(*(str(row.get(name, "")) for name in columns))
    return shown
