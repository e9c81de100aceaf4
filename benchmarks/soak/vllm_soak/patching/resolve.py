# SPDX-License-Identifier: Apache-2.0
"""From a target's dotted path to the attribute that can be swapped."""

from __future__ import annotations

import importlib
import inspect
from dataclasses import dataclass
from typing import Any

MISSING = object()


@dataclass(frozen=True)
class Attribute:
    """An attribute as it is found.

    Args:
        path: The dotted path that led here.
        owner: Class or module that holds it.
        name: Its name there.
        function: The function behind it.
        own: What the owner's own namespace holds under that name, or `MISSING` when it is inherited.
    """

    path: str
    owner: Any
    name: str
    function: Any
    own: Any


def resolve(path: str) -> Attribute:
    """Import the module of `"package.module:Class.method"` and find the attribute.

    Raises:
        ImportError: There is no such module.
        AttributeError: The module has no such attribute.
    """
    module, _, dotted = path.partition(":")
    *parents, name = dotted.split(".")
    owner: Any = importlib.import_module(module)
    for parent in parents:
        owner = getattr(owner, parent)
    raw = inspect.getattr_static(owner, name)
    # A static or class method is a descriptor around the function that has source and signature.
    function = raw.__func__ if isinstance(raw, staticmethod | classmethod) else raw
    return Attribute(path, owner, name, function, vars(owner).get(name, MISSING))


def begins_with(function: Any, parameters: tuple[str, ...]) -> bool:
    """Whether a function's parameters begin with these names; releases may add some at the end.

    Raises:
        ValueError: The function has no signature that Python can see.
        TypeError: It is not callable.
    """
    names = tuple(inspect.signature(function).parameters)
    return names[: len(parameters)] == parameters
