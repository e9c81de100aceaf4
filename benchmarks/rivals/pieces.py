# SPDX-License-Identifier: Apache-2.0
"""A table made in pieces: what earlier runs in the same folder left is kept, what is missing is measured."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any


def raw_result(folder: Path) -> dict[str, Any]:
    """What a tool's process left: one that broke or was stopped has what it wrote until then, and says so."""
    result, failure = folder / "result.json", folder / "failure"
    raw: dict[str, Any] = json.loads(result.read_text(encoding="utf-8")) if result.exists() else {}
    if failure.exists():
        raw.setdefault("failures", {})["process"] = failure.read_text(encoding="utf-8")
    return raw


def is_done(folder: Path) -> bool:
    """Whether a tool went through all phases, or its failure is known: that is a row too."""
    raw = raw_result(folder)
    return bool(raw.get("finished") or raw.get("failures", {}).get("process"))


def earlier(out: Path) -> dict[str, Any]:
    """The table's JSON as the last run left it."""
    path = out / "rivals.json"
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return found


def missing(names: list[str], out: Path, plan: dict[str, Any], *, anew: bool) -> list[str]:
    """The tools that are to be run; rows that another plan measured are no rows of this table.

    Args:
        names: Tools that are wanted.
        out: The folder of the table.
        plan: What every tool's session is told.
        anew: Run also what is there already.
    """
    if earlier(out).get("plan", plan) != plan:
        anew = True
        for old in out.glob("*/result.json"):
            shutil.rmtree(old.parent)
    return [name for name in names if anew or not is_done(out / name)]


def clear(names: list[str], out: Path) -> None:
    """Remove what tools left that are to be run again."""
    for name in names:
        shutil.rmtree(out / name, ignore_errors=True)


def note_failure(names: list[str], out: Path, failure: str) -> None:
    """Say how an engine's process failed, to the tools that it did not finish; to the first where none was begun."""
    begun = [name for name in names if (out / name).is_dir()] or names[:1]
    for name in begun:
        if not is_done(out / name):
            (out / name).mkdir(exist_ok=True)
            (out / name / "failure").write_text(failure, encoding="utf-8")
