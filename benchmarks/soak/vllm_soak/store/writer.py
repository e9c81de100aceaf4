# SPDX-License-Identifier: Apache-2.0
"""Writes a run as it goes: what a call has returned from is on the disk."""

from __future__ import annotations

import sqlite3
import threading
import time
from contextlib import contextmanager, suppress
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

from vllm_soak.errors import UsageError
from vllm_soak.store import schema
from vllm_soak.store.failure import removed, write_failure
from vllm_soak.store.lock import FolderLock
from vllm_soak.store.record import Event
from vllm_soak.store.row import insert, to_json

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from _typeshed import DataclassInstance
    from typing_extensions import Self

    from vllm_soak.store.outside import Capture, LevelStep, Point, ProcessEvent
    from vllm_soak.store.record import Census, PatchRow, Population, Round, Sample

STATUSES = ("running", "finished", "interrupted", "failed")


class RunStore:
    """The one writer of a run folder; every method is one transaction, callable from any thread.

    Write-ahead log with `synchronous=FULL`: a commit is on the disk when the method returns,
    and a SIGKILL at any moment costs at most the call that was under way.

    Every method raises StoreError when the file cannot be written (full or failing disk); what
    was written before is intact then.
    """

    def __init__(self, file: Path, connection: sqlite3.Connection, lock: FolderLock) -> None:
        self.file = file
        self._connection = connection
        self._folder_lock = lock
        self._mutex = threading.Lock()
        self._began = time.monotonic()

    @classmethod
    def create(cls, folder: Path, plan: Mapping[str, Any]) -> Self:
        """Start a run in `folder`, which is made when it does not exist.

        Args:
            folder: The run folder.
            plan: What was asked for; kept as JSON.

        Raises:
            UsageError: The folder holds a run, another controller writes to it, or it is a file.
            StoreError: The folder cannot be written, or the disk is full.
        """
        _make(folder)
        lock = FolderLock(folder)
        try:
            return cls._create(folder / schema.FILE_NAME, plan, lock)
        except BaseException:
            lock.release()
            raise

    @classmethod
    def _create(cls, file: Path, plan: Mapping[str, Any], lock: FolderLock) -> Self:
        if file.exists():
            raise UsageError(f"{file.parent} already holds a run", "choose another run folder or remove that one")
        try:
            connection = _fresh(file, plan)
        except (sqlite3.Error, OSError) as error:
            _remove(file)
            raise write_failure(file, error) from error
        return cls(file, connection, lock)

    def add_arm(self, name: str, engine: Mapping[str, Any] | None = None) -> None:
        """Open an arm; `engine` may come later, with `add_facts`."""
        self._write("INSERT INTO arm (name, engine) VALUES (?, ?)", [name, to_json(engine or {})])

    def add_facts(self, arm: str, engine: Mapping[str, Any]) -> None:
        """Keep the facts that the target reported when it was ready."""
        self._write("UPDATE arm SET engine = ? WHERE name = ?", [to_json(engine), arm])

    def fail_arm(self, arm: str, failure: str) -> None:
        """Say why the engine of an arm failed."""
        self._write("UPDATE arm SET failure = ? WHERE name = ?", [failure, arm])

    def add_round(self, row: Round) -> None:
        """Keep a round that was completed."""
        self._insert("round", [row])

    def add_sample(self, row: Sample) -> None:
        """Keep a sample of one process."""
        self._insert("sample", [row])

    def add_census(self, row: Census, populations: Sequence[Population] = ()) -> None:
        """Keep a census with its populations: all of it or nothing."""
        with self._transaction() as connection:
            connection.execute(*insert("census", row))
            for population in populations:
                connection.execute(*insert("population", population))

    def add_patches(self, rows: Sequence[PatchRow]) -> None:
        """Keep what a process reported of its patches."""
        self._insert("patch", rows)

    def add_points(self, rows: Sequence[Point]) -> None:
        """Keep what the sampler read, all of it or nothing."""
        self._insert("point", rows)

    def add_process_event(self, row: ProcessEvent) -> None:
        """Keep that a process appeared, died, restarted or took a new role."""
        self._insert("process_event", [row])

    def add_level_step(self, row: LevelStep) -> None:
        """Keep a step in latency, rate or processor time a request."""
        self._insert("level_step", [row])

    def add_capture(self, row: Capture) -> None:
        """Keep where the files of a capture lie."""
        self._insert("capture", [row])

    def add_event(self, arm: str, level: str, text: str) -> None:
        """Keep something that happened now, to an arm or (empty name) to the run."""
        self._insert("event", [Event(arm, time.monotonic() - self._began, level, text)])

    def set_status(self, status: str) -> None:
        """Say how the run stands: one of `STATUSES`."""
        if status not in STATUSES:
            raise ValueError(f"status {status!r} is not one of {STATUSES}")
        self._write("UPDATE run SET status = ?", [status])

    def set_verdict(self, verdict: Mapping[str, Any]) -> None:
        """Keep the verdict that the run ended with, as JSON."""
        self._write("UPDATE run SET verdict = ?", [to_json(verdict)])

    def close(self) -> None:
        """Fold the log into the file and give the folder back; harmless when repeated.

        Never raises: when the log cannot be folded in (full disk), it stays beside the file,
        and the reader finds it there.
        """
        with self._mutex:
            with suppress(sqlite3.Error):
                # A reader of a file in WAL mode leaves two more files beside it; an ended run is one file.
                self._connection.execute("PRAGMA journal_mode = DELETE")
            with suppress(sqlite3.Error):
                self._connection.close()
        self._folder_lock.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _insert(self, table: str, records: Sequence[DataclassInstance]) -> None:
        with self._transaction() as connection:
            for record in records:
                connection.execute(*insert(table, record))

    def _write(self, statement: str, values: Sequence[Any]) -> None:
        with self._transaction() as connection:
            connection.execute(statement, values)

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with self._mutex:
            try:
                with self._connection:
                    self._connection.execute("BEGIN IMMEDIATE")
                    yield self._connection
                # SQLite goes on writing to a file that was deleted.
                gone = not self.file.exists()
            except (sqlite3.Error, OSError) as error:
                gone = not self.file.exists()
                raise (removed(self.file.parent) if gone else write_failure(self.file, error)) from error
            if gone:
                raise removed(self.file.parent)


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError) as error:
        raise UsageError(f"{folder} is not a folder", "choose another run folder") from error
    except OSError as error:
        raise write_failure(folder, error) from error


def _fresh(file: Path, plan: Mapping[str, Any]) -> sqlite3.Connection:
    connection = sqlite3.connect(file, isolation_level=None, check_same_thread=False)
    try:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA foreign_keys = ON")
        _lay_down(connection, plan)
    except BaseException:
        connection.close()
        raise
    return connection


def _lay_down(connection: sqlite3.Connection, plan: Mapping[str, Any]) -> None:
    """Write tables, version and plan in one transaction: a file has all of it or is no run."""
    started = datetime.now(timezone.utc).isoformat(timespec="seconds")
    with connection:
        connection.execute("BEGIN IMMEDIATE")
        for statement in schema.TABLES.split(";"):
            connection.execute(statement)
        connection.execute(
            "INSERT INTO run (id, plan, status, started) VALUES (1, ?, 'running', ?)",
            [to_json(plan), started],
        )
        connection.execute(f"PRAGMA application_id = {schema.APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {schema.VERSION}")


def _remove(file: Path) -> None:
    """Leave no half-made run behind, so that the same command works once there is room."""
    with suppress(OSError):
        for suffix in ("", "-wal", "-shm"):
            file.with_name(file.name + suffix).unlink(missing_ok=True)
