# SPDX-License-Identifier: Apache-2.0
"""A registry in a field of a dataclass."""

from __future__ import annotations

from dataclasses import dataclass, field

PATH = "dataclass_registry.REGISTRY.sessions"


@dataclass
class Session:
    number: int


@dataclass
class Registry:
    sessions: list[Session] = field(default_factory=list)


REGISTRY = Registry()


def step() -> None:
    REGISTRY.sessions.append(Session(len(REGISTRY.sessions)))
