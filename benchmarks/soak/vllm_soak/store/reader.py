# SPDX-License-Identifier: Apache-2.0
"""Reads a run: finished, still being written, or what a SIGKILL left of it."""

from __future__ import annotations

import errno
import shutil
import sqlite3
import tempfile
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from vllm_soak.errors import StoreError, UsageError
from vllm_soak.store import schema
from vllm_soak.store.lock import is_locked
from vllm_soak.store.outside import Capture, LevelStep, Point, ProcessEvent
from vllm_soak.store.record import Arm, Census, Event, PatchRow, Population, Round, RunData, Sample
from vllm_soak.store.row import mapping, restore

if TYPE_CHECKING:
    from collections.abc import Iterator

    from _typeshed import DataclassInstance

Record = TypeVar("Record", bound="DataclassInstance")
_IN_MEMORY = "/dev/shm"  # noqa: S108 - a private folder is made inside


def read_run(folder: Path, *, points: bool = True) -> RunData:
    """Return everything that the run in `folder` has written so far, as of one moment.

    Args:
        folder: The run folder.
        points: Whether to read what the sampler outside read every second: in a run of hours, most of the file, and
            no verdict needs it.

    Raises:
        UsageError: The folder does not exist or holds no run.
        StoreError: The file is damaged, or a newer vllm-soak wrote it.
    """
    with _snapshot(folder) as connection:
        run = _run_row(connection)
        return RunData(
            plan=mapping("plan", run["plan"]),
            status=str(run["status"]),
            started=str(run["started"]),
            arms=_arms(connection, points=points),
            events=_all(connection, Event, "event"),
            live=run["status"] == "running" and is_locked(folder),
        )


def read_verdict(folder: Path) -> dict[str, Any] | None:
    """Return the verdict that the run ended with, or None when it did not come that far.

    Raises:
        UsageError: The folder does not exist or holds no run.
        StoreError: The file is damaged, or a newer vllm-soak wrote it.
    """
    with _snapshot(folder) as connection:
        text = _run_row(connection)["verdict"]
        return None if text is None else mapping("verdict", text)


def _run_row(connection: sqlite3.Connection) -> sqlite3.Row:
    row: sqlite3.Row | None = connection.execute("SELECT * FROM run").fetchone()
    if row is None:
        raise ValueError("its run row is missing")
    return row


def _arms(connection: sqlite3.Connection, *, points: bool) -> list[Arm]:
    rows = {
        "rounds": _all(connection, Round, "round"),
        "samples": _all(connection, Sample, "sample"),
        "censuses": _all(connection, Census, "census"),
        "populations": _all(connection, Population, "population"),
        "patches": _all(connection, PatchRow, "patch"),
        # Runs of earlier versions lack these tables.
        "points": _some(connection, Point, "point") if points else [],
        "process_events": _some(connection, ProcessEvent, "process_event"),
        "level_steps": _some(connection, LevelStep, "level_step"),
        "captures": _some(connection, Capture, "capture"),
    }
    arms = []
    for arm in connection.execute("SELECT * FROM arm ORDER BY rowid"):
        own: dict[str, Any] = {k: [r for r in v if r.arm == arm["name"]] for k, v in rows.items()}  # type: ignore[attr-defined]
        arms.append(restore(Arm, arm, **own))
    return arms


def _all(connection: sqlite3.Connection, kind: type[Record], table: str) -> list[Record]:
    rows = connection.execute(f'SELECT * FROM "{table}" ORDER BY rowid')  # noqa: S608 - own names only
    return [restore(kind, row) for row in rows]


def _some(connection: sqlite3.Connection, kind: type[Record], table: str) -> list[Record]:
    """Return a table's records, none when the file has no such table."""
    known = connection.execute("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?", [table]).fetchone()
    return _all(connection, kind, table) if known else []


@contextmanager
def _snapshot(folder: Path) -> Iterator[sqlite3.Connection]:
    """Open the run read-only and hold one read transaction, so that all tables agree."""
    file = _find(folder)
    try:
        with _connection(file) as connection:
            _check(connection, file)
            yield connection
    except (sqlite3.Error, KeyError, ValueError, TypeError, IndexError) as error:
        raise _damaged(file, str(error)) from error
    except OSError as error:
        raise StoreError(f"{file} cannot be read ({error.strerror})", "check its permissions and the disk") from error


def _find(folder: Path) -> Path:
    file = folder / schema.FILE_NAME
    if not folder.is_dir():
        raise UsageError(f"{folder} is not a folder", "give the folder of a run")
    if not file.is_file():
        raise UsageError(f"{folder} holds no run ({schema.FILE_NAME} is missing)", "give the folder of a run")
    return file


@contextmanager
def _connection(file: Path) -> Iterator[sqlite3.Connection]:
    """Connect in place, or to a copy where SQLite may not keep its shared-memory file or the disk is full."""
    try:
        connection = _connect(file)
    except sqlite3.OperationalError:
        with _scratch() as scratch, closing(_connect(_copied(file, scratch))) as copied:
            yield copied
        return
    with closing(connection):
        yield connection


def _connect(file: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True, isolation_level=None)
    try:
        connection.row_factory = sqlite3.Row
        connection.execute("BEGIN")
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except sqlite3.Error:
        connection.close()
        raise
    return connection


@contextmanager
def _scratch() -> Iterator[list[Path]]:
    """Empty folders to copy to: the usual one for temporary files, and one in memory for when that is full."""
    with ExitStack() as stack:
        folders = []
        for parent in (None, _IN_MEMORY):
            with suppress(OSError):
                made = tempfile.TemporaryDirectory(prefix="vllm-soak-", dir=parent)
                folders.append(Path(stack.enter_context(made)))
        yield folders


def _copied(file: Path, folders: list[Path]) -> Path:
    """Copy a run's file and log to the first folder that has room."""
    for folder in folders:
        with suppress(OSError):
            return _copy(file, folder)
    raise OSError(errno.ENOSPC, "there is no room for a copy to read from")


def _copy(file: Path, folder: Path) -> Path:
    for source in (file, file.with_name(f"{file.name}-wal")):
        if source.exists():
            shutil.copyfile(source, folder / source.name)
    return folder / file.name


def _check(connection: sqlite3.Connection, file: Path) -> None:
    if _pragma(connection, "application_id") != schema.APPLICATION_ID:
        raise StoreError(f"{file} was not written by vllm-soak", "give the folder of a run")
    version = _pragma(connection, "user_version")
    if version > schema.VERSION:
        raise StoreError(
            f"{file} has schema {version}, this vllm-soak reads up to {schema.VERSION}",
            "upgrade vllm-soak",
        )
    found = [row[0] for row in connection.execute("PRAGMA quick_check(1)")]
    if found != ["ok"]:
        raise _damaged(file, str(found[0]))


def _pragma(connection: sqlite3.Connection, name: str) -> int:
    return int(connection.execute(f"PRAGMA {name}").fetchone()[0])


def _damaged(file: Path, why: str) -> StoreError:
    why = " ".join(why.replace("*", "").split())
    return StoreError(f"{file} is damaged ({why})", "restore it from a copy or run the soak again")
