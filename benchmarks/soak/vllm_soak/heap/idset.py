# SPDX-License-Identifier: Apache-2.0
"""A set of object addresses that holds no reference: native where it was built, else pure Python."""

from __future__ import annotations

import importlib
import sys
from typing import Protocol


class IdSet(Protocol):
    """What both sets do. An object counts by its identity, so no user code runs."""

    def add(self, item: object, /) -> bool:
        """Add an object's address; True when it was not there."""

    def add_new(self, items: list[object], /) -> list[object]:
        """Add a list of objects; the list of those that were not there, in order."""

    def __contains__(self, item: object, /) -> bool: ...

    def __len__(self) -> int: ...

    @property
    def nbytes(self) -> int:
        """Bytes of the table."""


class PythonIdSet:
    """The set on a machine without a C compiler: about 90 bytes an entry."""

    def __init__(self) -> None:
        self._ids: set[int] = set()

    def add(self, item: object, /) -> bool:
        """Add an object's address; True when it was not there."""
        before = len(self._ids)
        self._ids.add(id(item))
        return len(self._ids) > before

    def add_new(self, items: list[object], /) -> list[object]:
        """Add a list of objects; the list of those that were not there, in order."""
        if not isinstance(items, list):
            raise TypeError("add_new() takes a list")
        ids, fresh = self._ids, []
        for item in items:
            address = id(item)
            if address not in ids:
                ids.add(address)
                fresh.append(item)
        return fresh

    def __contains__(self, item: object, /) -> bool:
        return id(item) in self._ids

    def __len__(self) -> int:
        return len(self._ids)

    @property
    def nbytes(self) -> int:
        """Bytes of the table and of its integers."""
        return sys.getsizeof(self._ids) + 32 * len(self._ids)


def _native() -> type[IdSet] | None:
    try:
        found: type[IdSet] = importlib.import_module("vllm_soak.heap._idset").IdSet
    except ImportError:  # built only where there is a C compiler
        return None
    return found


NATIVE = _native()


def new_set() -> IdSet:
    """The best set that this installation has."""
    return PythonIdSet() if NATIVE is None else NATIVE()


def walker_name() -> str:
    """`python+idset` or `python`: what a census says it was made with when the native walk is not there."""
    return "python" if NATIVE is None else "python+idset"
