# SPDX-License-Identifier: Apache-2.0
"""What a probe's census answers, as rows of the store."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from vllm_soak.store.record import Census, Population, Step

ROW = {field.name for field in fields(Population)}
COUNTS = ("objects", "containers", "seconds", "walker", "partial")


def census_row(answer: Mapping[str, Any], where: Mapping[str, Any]) -> Census:
    """The census itself.

    Args:
        answer: What the probe answered.
        where: `arm`, `process`, `round` and `requests`.
    """
    return Census(**where, **{key: answer[key] for key in COUNTS})


def population_rows(answer: Mapping[str, Any], where: Mapping[str, Any]) -> list[Population]:
    """Its populations, likewise."""
    return [population(row, where) for row in answer["populations"]]


def population(row: Mapping[str, Any], where: Mapping[str, Any]) -> Population:
    """A probe's row as a `Population`; what else a newer probe tells is left out."""
    steps = [Step(**step) for step in row.get("steps", [])]
    known = {name: value for name, value in row.items() if name in ROW}
    return Population(**{**known, **where, "steps": steps})
