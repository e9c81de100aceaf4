# SPDX-License-Identifier: Apache-2.0
"""A number beside a container that reads like its limit: a hint, not a bound, until the container has stopped there.

A cache that somebody wrote by hand fills in a straight line, as a leak does. What tells them apart is what happens at
the limit, so the name of a limit is reason to look on, and not to call anything bounded.
"""

from __future__ import annotations

from types import CellType, FunctionType
from typing import NamedTuple

from vllm_soak.heap.attributes import read, type_name
from vllm_soak.heap.inspectors.bound import holder
from vllm_soak.heap.inspectors.compared import compared_with
from vllm_soak.heap.kinds import CONTAINERS

# What limits entries. Names of lengths, tokens or sequences (`max_model_len`) limit something else.
NAMES = (
    "maxsize",
    "max_size",
    "maxlen",
    "capacity",
    "max_entries",
    "max_items",
    "max_keys",
    "size_limit",
    "limit",
    "cache_size",
    "max_cache",
    "maxcache",
    "max_cache_size",
    "cache_max_size",
    "max_cached_requests",
    "cap",
    "bound",
    "max_count",
    "max_history",
    "history_size",
    "pool_size",
    "max_pool_size",
    "queue_size",
    "max_queue_size",
)
# Beyond this a number is one of bytes.
MOST = 1_000_000
# A function, the tuple of its captured variables, and the variable: a walk's way to what is captured.
_CAPTURE = 3


class Limit(NamedTuple):
    """A number that may be a container's greatest length, and how it is called."""

    length: int
    name: str


def named_limit(container: object, owners: list[object], length: int) -> Limit | None:
    """The smallest such number that the container has not passed, of itself or of what holds it.

    Args:
        container: The container.
        owners: Objects on the way to it, from the root down.
        length: Its length.
    """
    found = _of_closure(container, owners)
    above = [one for one in (container, holder(owners)) if one is not None and not _is_plain(one)]
    found += [limit for one in above for limit in _of_object(one)]
    if len(owners) == 1 and type(owners[0]) is dict:
        found += _of_namespace(owners[0])
    found += [Limit(*one) for one in compared_with(container, owners)]
    return min((one for one in found if length <= one.length <= MOST), default=None)


def _of_object(one: object) -> list[Limit]:
    """Numbers of an object or a class that are called a limit."""
    shown = type_name(type(one))
    return [Limit(value, f"{shown}.{name}") for name in _spelled() if type(value := read(one, name)) is int]


def _of_namespace(names: dict[str, object]) -> list[Limit]:
    """Likewise of a module, by its namespace."""
    if type(names.get("__name__")) is not str:
        return []
    found = [(names.get(name), f"{names['__name__']}.{name}") for name in _spelled()]
    return [Limit(value, name) for value, name in found if type(value) is int]


def _of_closure(container: object, owners: list[object]) -> list[Limit]:
    """Likewise of the variables of a function that has captured the container: a decorator's argument."""
    function = next((one for one in reversed(owners[-_CAPTURE:]) if type(one) is FunctionType), None)
    cells = (function.__closure__ or ()) if function else ()
    if function is None or not any(_contents(cell) is container for cell in cells):
        return []
    pairs = zip(function.__code__.co_freevars, map(_contents, cells), strict=True)
    return [Limit(value, f"<{name}>") for name, value in pairs if type(value) is int and name in _spelled()]


def _contents(cell: CellType) -> object:
    try:
        return cell.cell_contents
    except ValueError:  # it is empty
        return None


def _is_plain(one: object) -> bool:
    """Whether an object is a builtin container itself, which has no attributes of anybody's."""
    return any(type(one) is cls for cls in CONTAINERS)


def _spelled() -> list[str]:
    return [f"{mark}{name}" for base in NAMES for name in (base, base.upper()) for mark in ("", "_")]
