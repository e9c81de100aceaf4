# SPDX-License-Identifier: Apache-2.0
"""Variables that a function closes over, found by name, through the wrappers around it."""

from __future__ import annotations

from typing import Any

MOST_WRAPPERS = 8


def freevar(function: Any, name: str) -> Any:
    """The variable `name` of the closure of a function, or of a function that it wraps; None when there is none.

    A wrapper holds what it wraps in a variable of its own closure, whatever that is called.
    """
    seen: list[Any] = [getattr(function, "__func__", function)]
    for one in seen:
        variables = closed_over(one)
        if name in variables:
            return variables[name]
        inner = [value for value in variables.values() if callable(value) and hasattr(value, "__code__")]
        seen += [value for value in inner if all(value is not known for known in seen)][:MOST_WRAPPERS]
    return None


def closed_over(function: Any) -> dict[str, Any]:
    """A function's free variables by name; those that are not bound yet are left out."""
    code, cells = getattr(function, "__code__", None), getattr(function, "__closure__", None)
    if code is None or not cells:
        return {}
    return {name: bound[0] for name, cell in zip(code.co_freevars, cells, strict=True) if (bound := contents(cell))}


def contents(cell: Any) -> tuple[Any, ...]:
    """What a cell holds, as a tuple of one; empty for one that is not bound yet."""
    try:
        return (cell.cell_contents,)
    except ValueError:
        return ()


def nested_names(function: Any) -> set[str]:
    """Names of the functions that are defined inside of a function."""
    return {constant.co_name for constant in function.__code__.co_consts if hasattr(constant, "co_name")}
