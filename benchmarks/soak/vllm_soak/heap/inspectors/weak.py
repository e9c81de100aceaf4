# SPDX-License-Identifier: Apache-2.0
"""Registries of weak references: what is in them is alive because something else holds it."""

from __future__ import annotations

from weakref import ReferenceType

from vllm_soak.heap.attributes import type_name
from vllm_soak.heap.inspectors.bound import holder, is_named
from vllm_soak.heap.kinds import container_base
from vllm_soak.heap.retained import recent_entries

_CLASSES = (
    ("WeakSet", "_weakrefset"),
    ("WeakValueDictionary", "weakref"),
    ("WeakKeyDictionary", "weakref"),
    ("_abc_data", "_abc"),
)


def weak_registry(container: object, owners: list[object]) -> str:
    """Why a container keeps nothing alive, or an empty string.

    Args:
        container: The container.
        owners: Objects on the way to it, from the root down.
    """
    owner = holder(owners)
    if any(is_named(type(owner), name, module) for name, module in _CLASSES):
        return f"a {type_name(type(owner))} keeps nothing alive: what is in it is held by something else"
    if _is_of_references(container):
        return "it holds weak references only, to objects that something else holds"
    return ""


def _is_of_references(container: object) -> bool:
    """Whether the last entries of a list or set are weak references to what is alive: dead ones are its own leak."""
    base = container_base(container)
    if base is not list and base is not set:
        return False
    found = [entry[0] for entry in recent_entries(container, base)]
    return bool(found) and all(type(one) is ReferenceType and one() is not None for one in found)
