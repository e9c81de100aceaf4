# SPDX-License-Identifier: Apache-2.0
"""The engine environments that vllm-soak made: where they are, making, listing and removing them."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

from vllm_soak.environments.builder import Blueprint, build, clear_leftovers, discard, python_in
from vllm_soak.environments.environment_record import LOCK, EnvironmentRecord, read_record
from vllm_soak.environments.folder_lock import exclusive
from vllm_soak.environments.in_use import refuse_in_use
from vllm_soak.environments.package_stamp import refresh_package
from vllm_soak.environments.recipe import Flavour, recipe_for, supported_flavour, untested_notice
from vllm_soak.environments.releases import Release, join_or, parse_release
from vllm_soak.environments.uv_failure import disk_full, explain
from vllm_soak.environments.uv_tool import Say, UvError, UvTool, ignore
from vllm_soak.errors import SoakError, UsageError

NO_ROOM = (errno.ENOSPC, errno.EDQUOT)


@dataclass(frozen=True, slots=True)
class EngineEnvironment:
    """One environment that is whole.

    Args:
        python: Its Python.
        name: The engine's distribution name.
        version: The engine's version.
        flavour: `full`, or `scheduler` for the `core` driver only.
        lock: What is installed there, one `NAME==VERSION` a line.
        created: When it was made, ISO 8601, UTC.
    """

    python: Path
    name: str
    version: str
    flavour: Flavour
    lock: Path
    created: str

    @property
    def folder(self) -> Path:
        """The environment's folder; its name is what `remove` takes."""
        return self.lock.parent

    @property
    def bytes_on_disk(self) -> int:
        """Bytes of its files; files that it shares with uv's cache count here as well."""
        walk = (Path(parent, name) for parent, _, names in os.walk(self.folder) for name in names)
        return sum(path.lstat().st_blocks * 512 for path in walk)


def cache_folder() -> Path:
    """Where everything is: `$VLLM_SOAK_CACHE`, `$XDG_CACHE_HOME/vllm-soak` or `~/.cache/vllm-soak`."""
    if own := os.environ.get("VLLM_SOAK_CACHE"):
        return Path(own).expanduser().absolute()
    shared = os.environ.get("XDG_CACHE_HOME", "")
    # The XDG rule: a relative path there is invalid and ignored.
    return (Path(shared) if Path(shared).is_absolute() else Path.home() / ".cache") / "vllm-soak"


def environments_folder() -> Path:
    """The folder that holds one folder for each environment."""
    return cache_folder() / "environments"


def environment_name(release: Release, flavour: Flavour) -> str:
    """Name of the folder of an environment, made for this Python's minor version."""
    major, minor = sys.version_info[:2]
    return f"{release.name}-{release.version}-{flavour}-py{major}.{minor}"


def blueprint_of(release: Release, flavour: Flavour) -> Blueprint:
    """What to build for a release."""
    folder = environments_folder() / environment_name(release, flavour)
    version = ".".join(str(part) for part in sys.version_info[:3])
    return Blueprint(folder, recipe_for(release, flavour), flavour, Path(sys.executable), version)


def ensure(requirement: str | Release, flavour: Flavour = "full", on_progress: Say = ignore) -> EngineEnvironment:
    """The environment of a release with this package in it, made when it is missing.

    Processes that ask for the same environment at once wait for each other. An attempt that fails
    or is killed leaves nothing that would be used, and the next one clears what is left.

    Args:
        requirement: `NAME==VERSION`, or `NAME` for the newest tested release.
        flavour: `full`, or `scheduler` when only the `core` driver will run; a full environment
            that exists serves both.
        on_progress: Takes short lines of text.

    Raises:
        UsageError: No such engine or release, or the cache folder cannot be written.
        EngineError: The release could not be installed.
    """
    release = requirement if isinstance(requirement, Release) else parse_release(requirement)
    blueprint = choose_blueprint(release, flavour)
    folder = blueprint.folder
    with problems_of(folder), locked(folder, on_progress) as lock:
        clear_leftovers(folder, on_progress)
        uv = UvTool(on_progress, lock, folder.parent)
        with uv_problems(release, folder):
            if not blueprint.standing:
                announce(release, on_progress)
                build(blueprint, uv)
            refresh_package(folder, uv)
        return must_describe(folder)


def choose_blueprint(release: Release, flavour: Flavour) -> Blueprint:
    """What to use or build: a standing full environment rather than a new one for the scheduler."""
    full = blueprint_of(release, "full")
    wanted = blueprint_of(release, supported_flavour(release, flavour))
    return full if full.standing and not wanted.standing else wanted


def announce(release: Release, say: Say) -> None:
    """Say so when a release is not a tested one."""
    if notice := untested_notice(release):
        say(notice)


def list_environments() -> list[EngineEnvironment]:
    """Every environment that is whole, by folder name."""
    try:
        folders = sorted(environments_folder().iterdir())
    except OSError:
        return []
    found = (describe(folder) for folder in folders if not folder.name.startswith("."))
    return [environment for environment in found if environment]


def remove(name: str) -> list[EngineEnvironment]:
    """Remove environments, and what interrupted attempts at them left.

    Args:
        name: A folder's name, or `NAME==VERSION` for every environment of that release.

    Returns:
        What was removed.

    Raises:
        UsageError: There is no such environment (the error lists near matches), or a process runs from it.
    """
    environments = list_environments()
    chosen = [entry for entry in environments if name in (entry.folder.name, f"{entry.name}=={entry.version}")]
    if not chosen:
        raise no_environment(name, environments)
    for environment in chosen:
        folder = environment.folder
        with problems_of(folder), locked(folder, ignore):
            refuse_in_use(folder)
            clear_leftovers(folder)
            if folder.exists():
                discard(folder)
    return chosen


def no_environment(name: str, environments: list[EngineEnvironment]) -> UsageError:
    """The error for an environment that does not exist."""
    names = [entry.folder.name for entry in environments]
    if not names:
        return UsageError(f"there is no environment {name}", "none has been made yet (vllm-soak env create)")
    near = get_close_matches(name, names, n=3, cutoff=0.3) or names[:3]
    return UsageError(f"there is no environment {name}", f"there is {join_or(near, 'and')}")


def describe(folder: Path) -> EngineEnvironment | None:
    """The environment in a folder, or None when none stands there whole."""
    record = read_record(folder)
    return environment_of(folder, record) if record and python_in(folder).exists() else None


def environment_of(folder: Path, record: EnvironmentRecord) -> EngineEnvironment:
    """An environment from its record."""
    name, _, version = record.requirement.partition("==")
    return EngineEnvironment(python_in(folder), name, version, record.flavour, folder / LOCK, record.created)


def must_describe(folder: Path) -> EngineEnvironment:
    """The environment that was just ensured."""
    environment = describe(folder)
    assert environment is not None, "an environment that was put in place is whole"
    return environment


@contextmanager
def locked(folder: Path, say: Say) -> Iterator[int]:
    """Hold the lock of an environment's folder."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    path = folder.parent / f".{folder.name}.lock"
    with exclusive(path, lambda: say(f"waiting for another vllm-soak that is at work on {folder.name}")) as lock:
        yield lock


@contextmanager
def uv_problems(release: Release, folder: Path) -> Iterator[None]:
    """Turn uv's failure into an error for the user."""
    try:
        yield
    except UvError as error:
        raise explain(error.text, release, folder) from error


@contextmanager
def problems_of(folder: Path) -> Iterator[None]:
    """Turn trouble with the cache's disk into an error for the user."""
    try:
        yield
    except OSError as error:
        # A file that is named and lies elsewhere is not the cache's trouble.
        if error.filename and not Path(os.fsdecode(error.filename)).is_relative_to(cache_folder()):
            raise
        raise disk_problem(error, folder) from error


def disk_problem(error: OSError, folder: Path) -> SoakError:
    """The error for a full disk, or for a folder that cannot be written."""
    if error.errno in NO_ROOM:
        return disk_full(folder)
    return UsageError(
        f"the cache of engine environments {folder.parent} cannot be used ({error.strerror or error})",
        "set VLLM_SOAK_CACHE to a folder that you can write to",
    )
