# SPDX-License-Identifier: Apache-2.0
"""Make an environment whole in a sibling folder, then put it in place by one rename.

Whatever is in place is whole. Whatever was cut short lies in a folder of another name, which the
next attempt clears; uv's own cache then makes the second attempt quick.
"""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from vllm_soak.environments.environment_record import LOCK, OVERRIDES, EnvironmentRecord, read_record
from vllm_soak.environments.recipe import Flavour, Recipe
from vllm_soak.environments.uv_tool import Say, UvTool, ignore, uv_version

PARTIAL = ".partial"
REPLACED = ".replaced"


@dataclass(frozen=True, slots=True)
class Blueprint:
    """What to build.

    Args:
        folder: Where the environment will stand.
        recipe: What to install.
        flavour: Goes into the record.
        base: The Python that the environment is made from.
        python_version: Version of that Python.
    """

    folder: Path
    recipe: Recipe
    flavour: Flavour
    base: Path
    python_version: str

    @property
    def standing(self) -> bool:
        """Whether the environment is in place, made by this recipe, and its Python still exists."""
        record = read_record(self.folder)
        return record is not None and record.follows(self.recipe) and python_in(self.folder).exists()


def python_in(folder: Path) -> Path:
    """The Python of the environment in `folder`."""
    return folder / "bin" / "python"


def build(blueprint: Blueprint, uv: UvTool) -> None:
    """Make the environment and put it in place, in exchange for one that stood there.

    The caller holds the environment's lock and has cleared what earlier attempts left.

    Raises:
        UvError: uv could not make or fill it; nothing of it is left.
    """
    staging = sibling(blueprint.folder, PARTIAL)
    try:
        fill(staging, blueprint, uv)
        uv.say(f"putting {blueprint.folder.name} in place")
        put_in_place(staging, blueprint.folder)
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def fill(staging: Path, blueprint: Blueprint, uv: UvTool) -> None:
    """Create the environment, install the recipe, and record what was installed."""
    recipe = blueprint.recipe
    uv.say(f"making an environment for {recipe.requirement} ({blueprint.flavour}, Python {blueprint.python_version})")
    # Relocatable: scripts find their Python beside them, so the rename breaks none.
    uv.make_environment(staging, blueprint.base)
    overrides = staging / OVERRIDES
    overrides.write_text("".join(f"{line}\n" for line in recipe.overrides), encoding="utf-8")
    uv.say(f"installing {recipe.requirement}")
    uv.install(python_in(staging), recipe.requirement, overrides)
    uv.say(f"recording what {recipe.requirement} brought")
    (staging / LOCK).write_text(uv.freeze(python_in(staging)), encoding="utf-8")
    new_record(blueprint).write(staging)


def new_record(blueprint: Blueprint) -> EnvironmentRecord:
    """The record of an environment that was made just now."""
    return EnvironmentRecord(
        requirement=blueprint.recipe.requirement,
        flavour=blueprint.flavour,
        python=blueprint.python_version,
        uv=uv_version(),
        overrides=blueprint.recipe.overrides,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
    )


def put_in_place(staging: Path, folder: Path) -> None:
    """Give `staging` its final name; what stood there is moved aside first, and then removed."""
    if folder.exists():
        discard(folder)
    staging.rename(folder)


def discard(folder: Path) -> None:
    """Take an environment out of use at once, then remove its files."""
    aside = sibling(folder, REPLACED)
    folder.rename(aside / folder.name)
    shutil.rmtree(aside)


def sibling(folder: Path, suffix: str) -> Path:
    """A new empty folder beside `folder`, on the same file system, that no listing shows."""
    return Path(tempfile.mkdtemp(prefix=f".{folder.name}.", suffix=suffix, dir=folder.parent))


def clear_leftovers(folder: Path, say: Say = ignore) -> None:
    """Remove what interrupted attempts at this environment left; `say` hears of it, for it may take a while."""
    for leftover in leftovers(folder):
        say(f"clearing what an interrupted attempt at {folder.name} left")
        shutil.rmtree(leftover)


def leftovers(folder: Path) -> list[Path]:
    """Folders that attempts at this environment, and at no other, made beside it."""
    return [
        path
        for suffix in (PARTIAL, REPLACED)
        for path in folder.parent.glob(f".{folder.name}.*{suffix}")
        # `.a-1.0.1.xyz.partial` is of another environment than `a-1.0`.
        if "." not in path.name.removeprefix(f".{folder.name}.").removesuffix(suffix)
    ]
