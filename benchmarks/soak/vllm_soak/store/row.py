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

JSON_FIELDS = frozenset(
    {"latency", "blocks", "values", "lengths", "garbage", "steps", "entry_types", "samples"}
    | {"engine", "changes", "files", "notes"}
)
# What a field's annotation accepts; SQLite keeps text in a column of integers, and JSON holds anything.
KINDS: dict[str, type | tuple[type, ...]] = {
    "str": str,
    "int": int,
    "float": (int, float),
    "dict": dict,
    "list": list,
}


def insert(table: str, record: DataclassInstance) -> tuple[str, list[Any]]:
    """Return the statement that writes a record, and its values."""
    row = {name: _pack(name, value) for name, value in asdict(record).items()}
    columns = ", ".join(f'"{name}"' for name in row)
    marks = ", ".join("?" * len(row))
    return f'INSERT INTO "{table}" ({columns}) VALUES ({marks})', list(row.values())  # noqa: S608 - own names only


def restore(kind: type[Record], row: Row, **others: Any) -> Record:
    """Return the record that a row holds; columns that `kind` lacks are ignored.

    Args:
        kind: The record's class.
        row: Its row.
        others: Fields that are not columns.

    Raises:
        TypeError: A value is not of its field's kind.
    """
    columns = [field for field in fields(kind) if field.name in set(row.keys()) - set(others)]
    return kind(**{one.name: _unpack(one.name, str(one.type), row[one.name]) for one in columns}, **others)


def mapping(name: str, text: Any) -> dict[str, Any]:
    """Return the JSON object that a column holds.

    Raises:
        TypeError: It holds something else.
    """
    return dict(_checked(name, "dict[str, Any]", json.loads(text)))


def _pack(name: str, value: Any) -> Any:
    return to_json(value) if name in JSON_FIELDS else value


def _unpack(name: str, annotation: str, value: Any) -> Any:
    if name not in JSON_FIELDS:
        return _checked(name, annotation, value)
    loaded = json.loads(value)
    if name == "steps":
        return [Step(**step) for step in loaded]
    if name == "blocks":
        return [(int(requests), float(seconds)) for requests, seconds in loaded]
    return _checked(name, annotation, loaded)


def _checked(name: str, annotation: str, value: Any) -> Any:
    """Return the value when it is what a field's annotation says, inside of a list or dict as well."""
    if value is None and annotation.endswith("| None"):
        return value
    outer, _, inner = annotation.removesuffix(" | None").partition("[")
    if not isinstance(value, KINDS[outer]):
        raise TypeError(f"{name} holds {value!r:.40}, not {outer}")
    of_each = KINDS.get(inner.rstrip("]").rpartition(" ")[2], object)
    values: Any = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    for one in values:
        if not isinstance(one, of_each):
            raise TypeError(f"{name} holds {one!r:.40}, which does not belong there")
    return value


def to_json(value: Mapping[str, Any] | list[Any]) -> str:
    """Return compact JSON; what JSON has no word for (a path, a version) is kept as text."""
    return json.dumps(value, separators=(",", ":"), default=str)
