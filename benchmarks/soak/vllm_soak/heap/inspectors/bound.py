# SPDX-License-Identifier: Apache-2.0
"""What an inspector answers, and what inspectors ask of the objects above a container."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any, NamedTuple

from vllm_soak.heap.attributes import MISSING, existing_dict, module_dict, mro, type_module, type_name
from vllm_soak.heap.kinds import CONTAINERS


class Bound(NamedTuple):
    """The greatest length that a container can have, and why."""

    length: int
    reason: str


# Takes a container and the objects on the way to it, from the root down; runs no code of theirs.
Rule = Callable[[Any, list[object]], "Bound | None"]


def holder(owners: list[object]) -> object | None:
    """The nearest object above a container, an instance rather than its namespace."""
    if len(owners) > 1 and is_namespace(owners[-2], owners[-1]):
        return owners[-2]
    return owners[-1] if owners else None


def is_namespace(above: object, item: object) -> bool:
    """Whether an object is the namespace of the instance above it."""
    if type(item) is not dict or any(type(above) is cls for cls in CONTAINERS):
        return False  # a builtin container has none, and may have a million references to look through
    return existing_dict(above) is item


def is_named(cls: type, name: str, module: str) -> bool:
    """Whether a class or one of its bases has a name and comes from a module or one below it."""
    return any(type_name(one) == name and f"{type_module(one)}.".startswith(f"{module}.") for one in mro(cls))


def of_module(module: str, name: str) -> Any:
    """A loaded module's attribute, or `MISSING`."""
    found = sys.modules.get(module)
    return module_dict(found).get(name, MISSING) if type(found) is ModuleType else MISSING


def is_count(value: object) -> bool:
    """Whether a value is a plain number of entries."""
    return type(value) is int and value > 0
