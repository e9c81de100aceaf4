# SPDX-License-Identifier: Apache-2.0
"""Registries of weak references: what is in them is alive because something else holds it."""

from __future__ import annotations

from vllm_soak.heap.attributes import type_name
from vllm_soak.heap.inspectors.bound import holder, is_named

_CLASSES = (
    ("WeakSet", "_weakrefset"),
    ("WeakValueDictionary", "weakref"),
    ("WeakKeyDictionary", "weakref"),
    ("_abc_data", "_abc"),
)


def weak_registry(owners: list[object]) -> str:
    """Why a container keeps nothing alive, or an empty string.

    Args:
        owners: Objects on the way to it, from the root down.
    """
    owner = holder(owners)
    if not any(is_named(type(owner), name, module) for name, module in _CLASSES):
        return ""
    return f"a {type_name(type(owner))} keeps nothing alive: what is in it is held by something else"
