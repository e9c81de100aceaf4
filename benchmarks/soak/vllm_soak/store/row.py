# SPDX-License-Identifier: Apache-2.0
"""A record of `record.py` as a row of SQLite values, and back."""

from __future__ import annotations

import json
from dataclasses import asdict, fields
from typing import TYPE_CHECKING, Any, TypeVar

from vllm_soak.store.record import Step

if TYPE_CHECKING:
    from collections.abc import Mapping
    from sqlite3 import Row

    from _typeshed import DataclassInstance

Record = TypeVar("Record", bound="DataclassInstance")

JSON_FIELDS = frozenset({"latency", "blocks", "values", "lengths", "steps", "entry_types", "engine"})


def insert(table: str, record: DataclassInstance) -> tuple[str, list[Any]]:
    """Return the statement that writes a record, and its values."""
    row = {name: _pack(name, value) for name, value in asdict(record).items()}
    columns = ", ".join(f'"{name}"' for name in row)
    marks = ", ".join("?" * len(row))
    return f'INSERT INTO "{table}" ({columns}) VALUES ({marks})', list(row.values())  # noqa: S608 - own names only


def restore(kind: type[Record], row: Row) -> Record:
    """Return the record that a row holds; columns that `kind` lacks are ignored."""
    present = set(row.keys())
    values = {f.name: _unpack(f.name, row[f.name]) for f in fields(kind) if f.name in present}
    return kind(**values)


def _pack(name: str, value: Any) -> Any:
    return to_json(value) if name in JSON_FIELDS else value


def _unpack(name: str, value: Any) -> Any:
    if name not in JSON_FIELDS:
        return value
    loaded = json.loads(value)
    if name == "steps":
        return [Step(**step) for step in loaded]
    if name == "blocks":
        return [(int(requests), float(seconds)) for requests, seconds in loaded]
    return loaded


def to_json(value: Mapping[str, Any] | list[Any]) -> str:
    """Return compact JSON; what JSON has no word for (a path, a version) is kept as text."""
    return json.dumps(value, separators=(",", ":"), default=str)
