# SPDX-License-Identifier: Apache-2.0
"""Figures that only a driver can tell of its engine, for the samples of its process."""

from __future__ import annotations

from collections.abc import Callable

Source = Callable[[], dict[str, float]]
# One at most: a process has one engine, and a second one takes the first one's place.
_sources: list[Source] = []


def register(source: Source) -> None:
    """Have a source asked at every sample from now on, in the place of an earlier one."""
    _sources[:] = [source]


def engine() -> dict[str, float]:
    """What the driver of this process tells of its engine; empty without one."""
    found: dict[str, float] = {}
    for source in _sources:
        found |= source()
    return found
