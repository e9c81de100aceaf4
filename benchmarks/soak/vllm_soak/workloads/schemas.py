# SPDX-License-Identifier: Apache-2.0
"""JSON schemas of which no two are alike: each makes the server compile a grammar of its own."""

from __future__ import annotations

from typing import Any

KINDS = ("string", "integer", "boolean", "number")


def unique_schema(index: int) -> dict[str, Any]:
    """A closed object schema whose property names carry the index.

    Every property is required and the object takes no other, so that the grammar is small and ends.
    """
    names = [f"{kind}_{index:x}" for kind in KINDS]
    properties: dict[str, Any] = {name: {"type": kind} for name, kind in zip(names, KINDS, strict=True)}
    properties[names[0]]["maxLength"] = 8
    return {"type": "object", "properties": properties, "required": names, "additionalProperties": False}


def response_format(index: int) -> dict[str, Any]:
    """The `response_format` field of a request with the schema of one index."""
    return {"type": "json_schema", "json_schema": {"name": f"soak_{index:x}", "schema": unique_schema(index)}}
