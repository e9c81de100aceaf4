# SPDX-License-Identifier: Apache-2.0
"""What an environment says of itself in its `environment.json`."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import cast

from vllm_soak.environments.recipe import Flavour, Recipe

FILE = "environment.json"
LOCK = "lock.txt"
OVERRIDES = "overrides.txt"
SCHEMA = 1


@dataclass(frozen=True, slots=True)
class EnvironmentRecord:
    """The record of one environment; written last, so its presence means that the rest is there.

    Args:
        requirement: What the resolver was asked for, `NAME==VERSION`.
        flavour: `full` or `scheduler`.
        python: Version of its Python.
        uv: Version of the uv that made it.
        overrides: Requirements that were replaced.
        created: When it was made, ISO 8601, UTC.
        package: Content hash of this package as it is installed there; empty while it is not.
    """

    requirement: str
    flavour: Flavour
    python: str
    uv: str
    overrides: tuple[str, ...]
    created: str
    package: str = ""
    schema: int = SCHEMA

    def follows(self, recipe: Recipe) -> bool:
        """Whether the environment was made by this recipe."""
        return (self.requirement, self.overrides) == (recipe.requirement, recipe.overrides)

    def with_package(self, content: str) -> EnvironmentRecord:
        """The same record for another content of this package."""
        return replace(self, package=content)

    def write(self, folder: Path) -> None:
        """Put the record into an environment's folder, whole or not at all, also across a crash."""
        draft = folder / f".{FILE}.new"
        with draft.open("w", encoding="utf-8") as file:
            json.dump(asdict(self), file, indent=2)
            file.write("\n")
            file.flush()
            os.fsync(file.fileno())
        draft.replace(folder / FILE)


def read_record(folder: Path) -> EnvironmentRecord | None:
    """The record of the environment in `folder`, or None when there is none that can be read."""
    try:
        values = json.loads((folder / FILE).read_text(encoding="utf-8"))
        if values["schema"] != SCHEMA:
            return None
        overrides = tuple(cast("list[str]", values.pop("overrides")))
        return EnvironmentRecord(**values, overrides=overrides)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
