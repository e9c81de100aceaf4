# SPDX-License-Identifier: Apache-2.0
"""A time beside a container that reads like the age at which its entries are dropped: a hint, as in `limits`.

A cache that is emptied by age grows in a straight line until its first entries are old enough, which a run may not live
to see.
"""

from __future__ import annotations

from datetime import timedelta
from itertools import chain
from types import CodeType
from typing import TYPE_CHECKING, NamedTuple

from vllm_soak.heap.attributes import read, type_name
from vllm_soak.heap.inspectors.bound import holder
from vllm_soak.heap.inspectors.compared import functions_of_class, functions_of_module

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from types import FunctionType

# A timeout is how long somebody waits, and is none of these.
NAMES = (
    "ttl",
    "ttl_s",
    "ttl_seconds",
    "default_ttl",
    "time_to_live",
    "max_age",
    "maxage",
    "max_age_seconds",
    "expire_after",
    "expires_after",
    "expiry",
    "expiry_seconds",
    "expiration",
    "expiration_seconds",
    "lifetime",
    "retention",
    "retention_seconds",
)
# Beyond this a number is no time in seconds.
MOST = 366 * 86_400.0


class Age(NamedTuple):
    """Seconds, and how they are called."""

    seconds: float
    name: str


def named_age(owners: list[object]) -> Age | None:
    """The shortest such time of what holds a container, where its code makes use of it.

    Args:
        owners: Objects on the way to the container, from the root down.
    """
    owner = holder(owners)
    if owner is None:
        return None
    if len(owners) == 1 and type(owner) is dict:  # a module's namespace
        used = _used(functions_of_module(owner))
        found = [(f"{owner.get('__name__')}.{name}", owner.get(name)) for name in used]
    else:
        used = _used(one for one in functions_of_class(type(owner)) if one.__name__ != "__init__")
        found = [(f"{type_name(type(owner))}.{name}", read(owner, name)) for name in used]
    ages = [Age(seconds, name) for name, value in found if (seconds := _seconds(value)) is not None]
    return min(ages, default=None)


def _used(functions: Iterable[FunctionType]) -> list[str]:
    mentioned = set(chain.from_iterable(_mentioned(one.__code__) for one in functions))
    return [name for name in _spelled() if name in mentioned]


def _mentioned(code: CodeType) -> Iterator[str]:
    """Names of a function, and of what is written within it: before CPython 3.12 a comprehension is one of its own."""
    yield from code.co_names
    for inner in code.co_consts:
        if type(inner) is CodeType:
            yield from _mentioned(inner)


def _seconds(value: object) -> float | None:
    if type(value) is timedelta:
        value = value.total_seconds()
    return float(value) if (type(value) is int or type(value) is float) and 0 < value <= MOST else None


def _spelled() -> list[str]:
    return [f"{mark}{name}" for base in NAMES for name in (base, base.upper()) for mark in ("", "_")]
